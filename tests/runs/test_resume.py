import json
from pathlib import Path

import pytest

from esagent.errors import RunError
from esagent.runs.directory import RunDirectory, create_run
from esagent.runs.journal import Journal, read_journal
from esagent.runs.metrics import read_rows
from esagent.runs.resume import recover, replay
from esagent.runs.snapshots import list_snapshots, write_snapshot
from tests.runs.steps import STEPS, work
from tests.runs.vector_backend import VectorBackend, update_of


@pytest.fixture
def undisturbed(tmp_path: Path) -> str:
    return work(create_run(tmp_path / "other", "a", 0, ""))


def test_a_run_in_two_parts_ends_like_one_in_one(run: RunDirectory, undisturbed: str) -> None:
    work(run, steps=3)
    assert work(run) == undisturbed
    assert [row["step"] for row in read_rows(run.metrics)] == list(range(STEPS))


def test_nothing_done_yet(run: RunDirectory) -> None:
    backend = VectorBackend()
    assert recover(run, backend) == (0, [])
    assert backend.digest() == VectorBackend().digest()


def test_without_snapshots_all_is_replayed(run: RunDirectory, undisturbed: str) -> None:
    work(run)
    for path in run.snapshots.iterdir():
        path.unlink()
    backend = VectorBackend()
    next_step, records = recover(run, backend)
    assert (next_step, len(records), backend.digest()) == (STEPS, STEPS, undisturbed)


def test_a_snapshot_spares_the_replay_of_earlier_steps(run: RunDirectory) -> None:
    work(run, steps=5, snapshot_every=2)
    replayed = []

    class Watched(VectorBackend):
        def apply(self, update):  # type: ignore[no-untyped-def]
            replayed.append(update.step)
            return super().apply(update)

    recover(run, Watched())
    assert replayed == [4]


def test_a_snapshot_ahead_of_the_journal_is_ignored(run: RunDirectory, undisturbed: str) -> None:
    work(run)
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join(lines[:5]))
    backend = VectorBackend()
    assert recover(run, backend)[0] == 5
    assert backend.digest() == read_journal(run.journal)[4]["digest"]
    assert work(run) == undisturbed


def test_a_snapshot_of_another_history_is_ignored(
    run: RunDirectory, undisturbed: str, caplog: pytest.LogCaptureFixture
) -> None:
    work(run)
    stranger = VectorBackend()
    stranger.apply(update_of(99))
    write_snapshot(run.snapshots, STEPS, stranger)
    backend = VectorBackend()
    recover(run, backend)
    assert backend.digest() == undisturbed
    assert "not of the state the journal describes" in caplog.text


def test_other_numbers_on_replay_name_the_step(run: RunDirectory) -> None:
    work(run, steps=4, snapshot_every=100)

    class Other(VectorBackend):
        def apply(self, update):  # type: ignore[no-untyped-def]
            if update.step == 2:
                self.theta["caller"][0] += 1e-3
            return super().apply(update)

    with pytest.raises(RunError, match="replaying step 2 gave digest"):
        recover(run, Other())


def test_a_snapshot_that_loads_as_something_else(run: RunDirectory) -> None:
    work(run)

    class Other(VectorBackend):
        def load(self, path: Path) -> None:
            super().load(path)
            self.theta["caller"][0] += 1e-3

    with pytest.raises(RunError, match=r"loading step-000006.safetensors gave digest"):
        recover(run, Other())


def test_any_earlier_state_can_be_reached(run: RunDirectory) -> None:
    work(run)
    records = read_journal(run.journal)
    for upto in range(1, STEPS + 1):
        backend = VectorBackend()
        replay(run.snapshots, records, backend, upto)
        assert backend.digest() == records[upto - 1]["digest"]


def test_going_back_to_the_start_needs_its_snapshot(run: RunDirectory) -> None:
    backend = VectorBackend()
    start = write_snapshot(run.snapshots, 0, backend)
    backend.apply(update_of(0))
    replay(run.snapshots, [], backend, 0)
    assert backend.digest() == VectorBackend().digest()
    start.path.write_bytes(b"damaged")
    with pytest.raises(RunError, match="no sound snapshot of the start"):
        replay(run.snapshots, [], backend, 0)


def test_a_torn_line_costs_one_step_and_its_metrics(run: RunDirectory, undisturbed: str) -> None:
    work(run)
    run.journal.write_bytes(run.journal.read_bytes()[:-20])
    with run.metrics.open("a") as file:
        for step, split in ((5, "pool"), (6, "pool")):
            file.write(json.dumps({"kind": "evaluation", "step": step, "split": split}) + "\n")
        file.write('{"kind": "step", "st')
    assert recover(run, VectorBackend())[0] == 5
    rows = read_rows(run.metrics)
    assert [(r["kind"], r["step"]) for r in rows] == [("step", s) for s in range(5)] + [("evaluation", 5)]
    assert work(run) == undisturbed


def test_damage_further_up_stops_the_resume(run: RunDirectory) -> None:
    work(run)
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join([lines[0], lines[1].replace(b"momentum", b"momentun"), *lines[2:]]))
    before = run.journal.read_bytes()
    with pytest.raises(RunError, match="line 2 of 6"):
        recover(run, VectorBackend())
    assert run.journal.read_bytes() == before


def test_old_snapshots_are_pruned_on_the_way(run: RunDirectory) -> None:
    work(run, snapshot_every=1)
    assert [s.step for s in list_snapshots(run.snapshots)] == [5, 6]
    with Journal(run.journal) as journal:
        assert len(journal.records) == STEPS
