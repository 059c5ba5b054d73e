from pathlib import Path
from typing import Any

import pytest

from esagent.errors import RunError
from esagent.runs.directory import RunDirectory, create_run
from esagent.runs.identity import Identity
from esagent.runs.journal import Journal, read_journal
from esagent.runs.resume import recover, replay
from esagent.runs.snapshots import list_snapshots, write_snapshot
from tests.runs.steps import START, STEPS, work
from tests.runs.vector_backend import VectorBackend, update_of


def recovered(run: RunDirectory, backend: VectorBackend) -> list[dict[str, Any]]:
    with recover(run, backend, START) as journal:
        return journal.records


@pytest.fixture
def undisturbed(tmp_path: Path) -> str:
    return work(create_run(tmp_path / "other", "a", 0, ""))


def test_a_run_in_two_parts_ends_like_one_in_one(run: RunDirectory, undisturbed: str) -> None:
    work(run, steps=3)
    assert work(run) == undisturbed


def test_nothing_done_yet(run: RunDirectory) -> None:
    backend = VectorBackend()
    assert recovered(run, backend) == []
    assert backend.digest() == VectorBackend().digest()


def test_without_snapshots_all_is_replayed(run: RunDirectory, undisturbed: str) -> None:
    work(run)
    for path in run.snapshots.iterdir():
        path.unlink()
    backend = VectorBackend()
    assert (len(recovered(run, backend)), backend.digest()) == (STEPS, undisturbed)


def test_a_snapshot_spares_the_replay_of_earlier_steps(run: RunDirectory) -> None:
    work(run, steps=5, snapshot_every=2)
    replayed = []

    class Watched(VectorBackend):
        def apply(self, update):  # type: ignore[no-untyped-def]
            replayed.append(update.step)
            return super().apply(update)

    recovered(run, Watched())
    assert replayed == [4]


def test_a_snapshot_of_a_step_whose_record_was_torn_is_withdrawn(
    run: RunDirectory, undisturbed: str, caplog: pytest.LogCaptureFixture
) -> None:
    work(run)
    run.journal.write_bytes(run.journal.read_bytes()[:-20])
    backend = VectorBackend()
    assert len(recovered(run, backend)) == 5
    assert "deleted, for they are ahead of the journal: snapshots/step-000006.safetensors" in caplog.text
    assert [snapshot.step for snapshot in list_snapshots(run.snapshots)] == [0, 4]
    assert backend.digest() == read_journal(run.journal)[4]["digest"]
    assert work(run) == undisturbed


def test_fresh_weights_beside_an_older_journal_are_refused(run: RunDirectory, undisturbed: str) -> None:
    work(run)
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join(lines[:5]))
    with pytest.raises(
        RunError, match=r"holds 5 steps, but snapshots/step-000006.safetensors was written after step 5"
    ):
        recover(run, VectorBackend(), START)
    assert run.journal.read_bytes() == b"".join(lines[:5])
    for path in run.snapshots.glob("step-000006.*"):
        path.unlink()
    assert work(run) == undisturbed


def test_a_snapshot_of_another_history_is_ignored(
    run: RunDirectory, undisturbed: str, caplog: pytest.LogCaptureFixture
) -> None:
    work(run)
    stranger = VectorBackend()
    stranger.apply(update_of(99))
    write_snapshot(run.snapshots, STEPS, stranger, START.seal)
    backend = VectorBackend()
    recovered(run, backend)
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
        recover(run, Other(), START)


def test_a_snapshot_that_loads_as_something_else(run: RunDirectory) -> None:
    work(run)

    class Other(VectorBackend):
        def load(self, path: Path) -> None:
            super().load(path)
            self.theta["caller"][0] += 1e-3

    with pytest.raises(RunError, match=r"loading step-000006.safetensors gave digest"):
        recover(run, Other(), START)


def test_any_earlier_state_can_be_reached(run: RunDirectory) -> None:
    work(run)
    records = read_journal(run.journal)
    for upto in range(1, STEPS + 1):
        backend = VectorBackend()
        replay(run.snapshots, records, backend, upto, START)
        assert backend.digest() == records[upto - 1]["digest"]


def test_going_back_to_the_start_needs_its_snapshot(run: RunDirectory) -> None:
    backend = VectorBackend()
    start = write_snapshot(run.snapshots, 0, backend, START.seal)
    backend.apply(update_of(0))
    replay(run.snapshots, [], backend, 0, START)
    assert backend.digest() == VectorBackend().digest()
    start.path.write_bytes(b"damaged")
    with pytest.raises(RunError, match="no sound snapshot of the start"):
        replay(run.snapshots, [], backend, 0, START)


def test_a_lost_snapshot_of_the_start_is_written_again(run: RunDirectory, caplog: pytest.LogCaptureFixture) -> None:
    work(run, steps=3)
    recovered(run, VectorBackend())
    assert "snapshot of the start is missing" in caplog.text
    backend = VectorBackend()
    backend.apply(update_of(0))
    replay(run.snapshots, [], backend, 0, START)
    assert backend.digest() == START.digest


def test_a_run_that_began_elsewhere_starts_from_its_first_snapshot_or_not_at_all(run: RunDirectory) -> None:
    other = VectorBackend()
    other.apply(update_of(7))
    elsewhere = Identity(START.seal, other.digest())
    with pytest.raises(RunError, match=f"began from digest {other.digest()}, its settings now give {START.digest}"):
        recover(run, VectorBackend(), elsewhere)
    write_snapshot(run.snapshots, 0, other, START.seal)
    backend = VectorBackend()
    recover(run, backend, elsewhere).close()
    assert backend.digest() == other.digest()


def test_damage_further_up_stops_the_resume(run: RunDirectory) -> None:
    work(run)
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join([lines[0], lines[1].replace(b"momentum", b"momentun"), *lines[2:]]))
    before = run.journal.read_bytes()
    with pytest.raises(RunError, match="line 2 of 6"):
        recover(run, VectorBackend(), START)
    assert run.journal.read_bytes() == before


def test_old_snapshots_are_pruned_on_the_way(run: RunDirectory) -> None:
    work(run, snapshot_every=1)
    assert [s.step for s in list_snapshots(run.snapshots)] == [5, 6]
    with Journal(run.journal) as journal:
        assert len(journal.records) == STEPS
