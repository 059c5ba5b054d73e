from pathlib import Path

import pytest
import torch

from esagent.runs.directory import RunDirectory
from esagent.runs.snapshots import list_snapshots, newest_verified, prune, write_snapshot
from tests.runs.limited import with_limit
from tests.runs.vector_backend import VectorBackend, update_of


def _fill(run: RunDirectory, count: int) -> VectorBackend:
    backend = VectorBackend()
    write_snapshot(run.snapshots, 0, backend)
    for step in range(count):
        backend.apply(update_of(step))
        write_snapshot(run.snapshots, step + 1, backend)
    return backend


def test_a_snapshot_brings_the_state_back(run: RunDirectory) -> None:
    backend = _fill(run, 2)
    snapshot = newest_verified(run.snapshots)
    assert snapshot is not None
    assert (snapshot.step, snapshot.path.name) == (2, "step-000002.safetensors")
    other = VectorBackend()
    other.load(snapshot.path)
    assert other.digest() == backend.digest() == snapshot.digest
    assert torch.equal(other.velocity["caller"], backend.velocity["caller"])
    assert not list(run.snapshots.glob(".tmp-*"))


def test_damaged_and_unfinished_ones_are_skipped_with_a_warning(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    _fill(run, 5)
    folder = run.snapshots
    (folder / "step-000005.json").unlink()
    flipped = bytearray((folder / "step-000004.safetensors").read_bytes())
    flipped[-1] ^= 1
    (folder / "step-000004.safetensors").write_bytes(flipped)
    (folder / "step-000003.json").write_text("{")
    (folder / "step-000002.safetensors").unlink()
    found = newest_verified(folder)
    assert found is not None
    assert found.step == 1
    for step, reason in ((4, "SHA-256"), (3, "note cannot be read"), (2, "No such file")):
        assert any(f"step-{step:06d}" in r.message and reason in r.message for r in caplog.records)


def test_only_states_up_to_the_wanted_one(run: RunDirectory) -> None:
    _fill(run, 3)
    found = newest_verified(run.snapshots, at_most=2)
    assert found is not None
    assert found.step == 2
    assert newest_verified(run.path / "episodes") is None


def test_prune_keeps_the_last_the_start_and_the_best(run: RunDirectory) -> None:
    _fill(run, 6)
    (run.snapshots / "step-000007.safetensors").write_bytes(b"unfinished")
    prune(run.snapshots, last=2, keep=(0, 3))
    assert [s.step for s in list_snapshots(run.snapshots)] == [0, 3, 5, 6]
    assert len(list(run.snapshots.iterdir())) == 8


def _write(folder: Path) -> None:
    write_snapshot(folder, 1, VectorBackend())


def test_a_full_disk_keeps_the_older_ones(run: RunDirectory) -> None:
    _fill(run, 0)
    text = with_limit(_write, 1000, run.snapshots)
    assert text.startswith("EnvironmentFailure: cannot write"), text
    assert sorted(p.name for p in run.snapshots.iterdir()) == ["step-000000.json", "step-000000.safetensors"]
