import json
from pathlib import Path

import pytest

from esagent.errors import ConfigError, RunError
from esagent.runs.directory import RunDirectory, create_run
from esagent.runs.find import find_run
from esagent.runs.identity import (
    Identity,
    changes,
    identity,
    read_manifest,
    read_settings,
    require_settings,
    write_identity,
)
from esagent.runs.journal import Journal, read_journal

SETTINGS = {"seed": 0, "budget": {"steps": 8, "select": "last"}, "options": {}}
TEXT = "seed: 0\nbudget:\n  steps: 8\n  select: last\noptions: {}\n"
MANIFEST = {"config": SETTINGS, "initial_digest": "d0", "model_hash": "m"}


@pytest.fixture
def made(tmp_path: Path) -> RunDirectory:
    return create_run(tmp_path / "runs", "test", 0, TEXT, prepare=lambda run: write_identity(run, MANIFEST))


def test_a_run_begins_with_a_manifest_that_its_journal_follows(made: RunDirectory) -> None:
    manifest = read_manifest(made)
    assert manifest["run"] == f"test/{made.id}"
    assert identity(manifest) == Identity(manifest["checksum"], "d0")
    assert made.journal.read_bytes() == b""
    with Journal(made.journal, manifest["checksum"]) as journal:
        journal.append({"step": 0})
    assert json.loads(made.journal.read_text())["previous"] == manifest["checksum"]
    assert read_journal(made.journal) == read_journal(made.journal, manifest["checksum"])
    with pytest.raises(RunError, match="line 1 of 1: it is not of this run"):
        read_journal(made.journal, "0" * 64)


def test_two_runs_of_the_same_settings_have_different_seals(tmp_path: Path) -> None:
    runs = [create_run(tmp_path, "a", 0, TEXT, prepare=lambda run: write_identity(run, MANIFEST)) for _ in range(2)]
    assert len({identity(read_manifest(run)).seal for run in runs}) == 2


def test_what_fails_in_the_making_leaves_nothing(tmp_path: Path) -> None:
    def fail(run: RunDirectory) -> None:
        write_identity(run, MANIFEST)
        assert not run.config.exists()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        create_run(tmp_path / "runs", "a", 0, TEXT, prepare=fail)
    assert list(tmp_path.iterdir()) == []


def test_settings_that_are_only_written_otherwise_are_the_same(made: RunDirectory) -> None:
    made.config.write_text("# mine\nbudget: {select: last, steps: 8}\noptions: {}\nseed: 0\n")
    manifest = read_manifest(made)
    require_settings(made, manifest, read_settings(made, manifest))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT.replace("8", "9"), "budget.steps was 8, is 9"),
        (TEXT.replace("8", "8x"), 'budget.steps was 8, is "8x"'),
        (TEXT.replace("seed: 0", "seed: 0\nsed: 1"), "sed was absent, is 1"),
        (TEXT.replace("{}", "{a: 1}"), "options was {}, is absent; options.a was absent, is 1"),
        (TEXT.replace("  select: last\n", ""), 'budget.select was "last", is absent'),
        ("seed: 0\n", "damaged: it lacks budget, options"),
        ("", "damaged: it lacks seed, budget, options"),
        ("[1, 2]", "damaged: it lacks seed"),
        ("seed: [", "damaged: it is not YAML"),
        ("\0", "damaged: it is not YAML"),
        ("seed: ${x}\n", "damaged"),
    ],
)
def test_other_settings_are_told_one_by_one(made: RunDirectory, text: str, says: str) -> None:
    made.config.write_text(text)
    manifest = read_manifest(made)
    with pytest.raises(ConfigError) as caught:
        require_settings(made, manifest, read_settings(made, manifest))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_many_differences_are_cut_short(made: RunDirectory) -> None:
    settings = SETTINGS | {f"s{i}": i for i in range(30)}
    with pytest.raises(ConfigError, match="and 18 more") as caught:
        require_settings(made, read_manifest(made), settings)
    assert len(caught.value.problems) == 14


def test_true_is_not_one() -> None:
    assert changes({"a": 1, "b": 1.0}, {"a": True, "b": 1}) == ["a was 1, is true"]


def test_a_run_without_its_config_says_where_the_settings_are(made: RunDirectory) -> None:
    made.config.unlink()
    with pytest.raises(ConfigError, match=r"no config\.yaml.*under `config` in manifest\.json"):
        find_run(str(made.path))
