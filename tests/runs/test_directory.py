import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from esagent.errors import ConfigError, RunError
from esagent.runs.directory import RunDirectory, check_name, create_run, open_run
from esagent.runs.journal import Journal
from tests.runs.limited import context, with_limit

NOW = datetime(2026, 11, 30, 12, 45, tzinfo=UTC)


def test_a_run_is_named_by_time_and_seed_and_holds_its_config(tmp_path: Path) -> None:
    run = create_run(tmp_path / "runs", "study", 3, "seed: 3\n", NOW)
    assert run.path == tmp_path / "runs" / "study" / "20261130-124500-s3"
    assert (run.id, run.name) == ("20261130-124500-s3", "study")
    assert run.config.read_text() == "seed: 3\n"
    assert sorted(p.name for p in run.path.iterdir()) == ["config.yaml", "episodes", "snapshots"]
    assert open_run(run.path) == RunDirectory(run.path)


def test_a_taken_id_gets_a_suffix(tmp_path: Path) -> None:
    ids = [create_run(tmp_path, "a", 0, "", NOW).id for _ in range(3)]
    assert ids == ["20261130-124500-s0", "20261130-124500-s0-2", "20261130-124500-s0-3"]


def test_threads_starting_together_never_share_a_run(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        runs = list(pool.map(lambda i: create_run(tmp_path / "runs", "a", 0, str(i), NOW), range(64)))
    assert len({run.path for run in runs}) == 64
    assert [run.config.read_text() for run in runs] == [str(i) for i in range(64)]


def _make_many(folder: Path, tag: str, paths: "object") -> None:
    paths.put([(str(create_run(folder, "a", 0, f"{tag}-{i}", NOW).path), f"{tag}-{i}") for i in range(25)])  # type: ignore[attr-defined]


def test_processes_starting_together_never_share_a_run(tmp_path: Path) -> None:
    queue = context().Queue()
    children = [context().Process(target=_make_many, args=(tmp_path / "runs", str(i), queue)) for i in range(4)]
    for child in children:
        child.start()
    made = [pair for _ in children for pair in queue.get(timeout=60)]
    for child in children:
        child.join(30)
    assert len({path for path, _ in made}) == 100
    assert all(open_run(path).config.read_text() == text for path, text in made)


def test_creating_while_others_discard_the_same_parent(tmp_path: Path) -> None:
    def make_and_discard(i: int) -> Path:
        run = create_run(tmp_path / "deep" / "runs", "a", i, "", NOW)
        if i % 2:
            run.discard()
        return run.path

    with ThreadPoolExecutor(16) as pool:
        paths = list(pool.map(make_and_discard, range(60)))
    assert all(path.exists() == (i % 2 == 0) for i, path in enumerate(paths))


def test_discard_takes_the_folders_made_for_the_run_along(tmp_path: Path) -> None:
    run = create_run(tmp_path / "new" / "runs", "a", 0, "", NOW)
    run.discard()
    assert list(tmp_path.iterdir()) == []


def test_discard_leaves_what_was_there_before(tmp_path: Path) -> None:
    first = create_run(tmp_path / "runs", "a", 0, "", NOW)
    create_run(tmp_path / "runs", "a", 1, "", NOW).discard()
    assert list((tmp_path / "runs" / "a").iterdir()) == [first.path]
    first.discard()
    assert not (tmp_path / "runs").exists()


def test_a_run_with_finished_steps_is_not_discarded(run: RunDirectory) -> None:
    with Journal(run.journal) as journal:
        journal.append({"step": 0})
    with pytest.raises(RunError, match="finished steps"):
        run.discard()
    assert run.journal.exists()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../up", "/abs", "a\\b", "a:b", " a", "a\n", "a\0b", "-m", ".hidden"]
)
def test_names_that_are_no_folder_name_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="name="):
        create_run(tmp_path / "runs", name, 0, "")
    assert list(tmp_path.iterdir()) == []


def test_the_nearest_valid_name_is_told() -> None:
    with pytest.raises(ConfigError, match=r"try name=study-arm1$"):
        check_name("study/arm1")
    check_name("Größe_2.5-x")


def test_a_name_too_long_for_the_disk_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="too long"):
        create_run(tmp_path / "runs", "x" * 300, 0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    for folder in ("runs", "runs/deeper"):
        with pytest.raises(ConfigError, match="Not a directory"):
            create_run(tmp_path / folder, "a", 0, "")


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    code = (
        "import os, sys\nfrom esagent.runs.directory import create_run\nfrom esagent.errors import EnvironmentFailure\n"
        "import pwd\nos.geteuid() or os.setuid(pwd.getpwnam('nobody').pw_uid)\n"
        "try:\n    create_run(sys.argv[1], 'a', 0, '')\nexcept EnvironmentFailure as error:\n    print(error)\n"
    )
    for folder in [tmp_path, *tmp_path.parents][:3]:  # pytest keeps its folders to the user; the child is nobody
        folder.chmod(0o755)
    locked.chmod(0o555)
    done = subprocess.run([sys.executable, "-c", code, locked], capture_output=True, text=True, cwd=os.getcwd())
    assert f"cannot make a run directory in {locked}/a: Permission denied; set runs_dir=" in done.stdout, done.stderr
    assert list(locked.iterdir()) == []


def test_a_place_that_takes_no_folders(tmp_path: Path) -> None:
    text = with_limit(_create, 1 << 20, Path("/proc/esagent"))
    assert text.startswith("EnvironmentFailure: cannot make a run directory in /proc/esagent/a")


def _create(folder: Path) -> None:
    create_run(folder, "a", 0, "x" * 10_000)


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    text = with_limit(_create, 4096, tmp_path / "runs")
    assert text.startswith("EnvironmentFailure: cannot write"), text
    assert list(tmp_path.iterdir()) == []


def test_opening_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        open_run(tmp_path / "nothing")
    with pytest.raises(ConfigError, match=r"no config\.yaml"):
        open_run(tmp_path)
