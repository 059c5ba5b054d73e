"""A run's configuration, changed where it may be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from esagent.config.amend import amend
from esagent.config.changes import changes
from esagent.config.compose import compose
from esagent.config.export import to_dict
from esagent.errors import ConfigError

CHANGEABLE = ("task", "seed", "agent.max_turns")


@pytest.fixture(scope="module")
def config():
    return compose(["task.level=medium", "seed=4", "space=core"])


def changed(config, *overrides: str):
    return amend(config, overrides, None, CHANGEABLE, "eval")


def test_a_key_changes_and_all_else_stays_the_runs_own(config) -> None:
    assert changed(config) == config
    found = changed(config, "task.heldout=5", "agent.max_turns=4", "task.options.weights={answer: 1.0}")
    task = replace(config.task, heldout=5, options={"weights": {"answer": 1.0}})
    assert found == replace(config, task=task, agent=replace(config.agent, max_turns=4))


def test_a_group_option_replaces_the_group_and_keys_in_it_still_count(config, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "1 + 1?", "answer": "2"}\n')
    found = changed(config, "task.heldout=7", f"task.path={rows}", "task=jsonl")
    assert (found.task.name, found.task.path, found.task.heldout) == ("jsonl", str(rows), 7)
    assert found.task.level == "easy"  # what conf/task/jsonl.yaml says, not what the run had
    assert found.space == config.space


@pytest.mark.parametrize(
    "override", ["space=bias", "model=a/b", "agent.name=react", "budget.steps=3", "hydra.verbose=1"]
)
def test_what_belongs_to_the_trained_state_cannot_change(config, override: str) -> None:
    with pytest.raises(ConfigError) as caught:
        changed(config, override)
    key = override.partition("=")[0]
    assert caught.value.problems == (
        f"{key}: eval keeps what a run was trained with; it can change task, seed, agent.max_turns",
    )


def test_every_problem_is_told(config) -> None:
    with pytest.raises(ConfigError) as caught:
        changed(config, "tsak.level=hard", "space.rank=2", "seed=x")
    assert len(caught.value.problems) == 3
    with pytest.raises(ConfigError, match=r"task.level=3: choose from easy"):
        changed(config, "task.level=3")


def test_changes_name_what_differs() -> None:
    default, other = to_dict(compose()), to_dict(compose(["sigma.modules.planner=0.5", "space.layers=last:2"]))
    assert changes(default, default) == {}
    assert changes(other, default) == {
        "sigma.modules.planner": {"value": 0.5, "default": 0.8},
        "space.layers": {"value": "last:2", "default": default["space"]["layers"]},
    }
    assert changes({"a": {"b": 1}}, {"a": {}, "c": None}) == {
        "a.b": {"value": 1, "default": None},
        "c": {"value": None, "default": None},
    }


def test_the_study_of_a_run_binds_its_training_alone(config) -> None:
    """Its file may be gone, and other seeds than it declares may be evaluated."""
    assert changed(replace(config, study="gone.yaml"), "seed=7").study == "gone.yaml"
