"""Arms: named by what tells them apart, and no more."""

from __future__ import annotations

import pytest

from esagent.config.compose import compose
from esagent.config.export import to_dict
from esagent.errors import ConfigError
from esagent.stats.arms import flatten, label_arms, pairing_problems, telling_keys

_DEFAULT = compose([])
EPISODES = 2 * _DEFAULT.algorithm.directions * _DEFAULT.budget.tasks_per_step
"""Of a step."""


def configs(*settings: str) -> list[dict[str, object]]:
    return [flatten(to_dict(compose(text.split()))) for text in settings]


@pytest.mark.parametrize(
    ("settings", "labels"),
    [
        (
            ["seed=0", "seed=0 space.positions=all", "seed=1 space.positions=all"],
            ["space.positions=answer", "space.positions=all", "space.positions=all"],
        ),
        (["seed=0", "seed=1 name=other"], ["all", "all"]),
        # a preset changes several settings at once: one of them says it
        (["budget=default", "budget=quick"], ["budget.steps=16", "budget.steps=4"]),
        (["space=bias", "space=core"], ["space.name=bias", "space.name=core"]),
        (["agent.constrained=true", "agent.constrained=false"], ["agent.constrained=true", "agent.constrained=false"]),
        # a grid needs both of its settings, in the order of the schema
        (
            [
                "algorithm.directions=9",
                "space.layers=last:4 algorithm.directions=9",
                "algorithm.directions=2",
                "space.layers=last:4 algorithm.directions=2",
            ],
            [
                "algorithm.directions=9 space.layers=last:12",
                "algorithm.directions=9 space.layers=last:4",
                "algorithm.directions=2 space.layers=last:12",
                "algorithm.directions=2 space.layers=last:4",
            ],
        ),
        (
            ["seed=0", "agent.options.max_new_tokens=9"],
            ["agent.options.max_new_tokens=null", "agent.options.max_new_tokens=9"],
        ),
        (["seed=0", "space.modules=[caller]"], ["space.modules=[]", "space.modules=[caller]"]),
    ],
)
def test_labels(settings: list[str], labels: list[str]) -> None:
    assert label_arms(configs(*settings)) == labels


def test_by_chooses_the_keys() -> None:
    found = configs("space.layers=last:4 name=a", "space.layers=last:8 name=b")
    assert label_arms(found, ["name"]) == ["name=a", "name=b"]
    assert label_arms(found, ["seed"]) == ["seed=0", "seed=0"]
    with pytest.raises(ConfigError, match=r"--by space.layrs: .* did you mean space.layers"):
        label_arms(found, ["space.layrs"])


def test_telling_keys_splits_as_finely_as_all_settings_do() -> None:
    found = configs("space.layers=last:4", "space.layers=last:4 budget.steps=3", "space.layers=last:2 budget.steps=3")
    keys = telling_keys(found)
    assert len({tuple(str(c[k]) for k in keys) for c in found}) == 3


def _in_epochs(settings: str) -> str:
    """`settings`, with tasks drawn uniformly where they say nothing about it."""
    says = "budget=default" in settings or "task_sampling" in settings
    return settings if says else f"{settings} budget.task_sampling=uniform"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["space.layers=last:4", "space.layers=last:8"], []),
        (["seed=0 budget=default", "seed=1 budget=default"], []),
        (["budget=default space.layers=last:4", "budget=default"], ["share the pool but not the order of tasks"]),
        (["budget.task_sampling=variance", "seed=0"], ["budget.task_sampling.*order of tasks", "each drew by its own"]),
        (["model=smollm2-135m", "model=qwen2.5-1.5b"], ["model.name.*base weights"]),
        (["task.level=easy", "task.level=medium"], ["task.level, so.*tasks"]),
        (["budget.tasks_per_step=3", "budget.tasks_per_step=4"], ["order of tasks", "unequal budgets"]),
        (["budget=tokens budget.tokens=2e6", "budget=tokens budget.tokens=2e6 algorithm.directions=8"], []),
        (["budget=tokens", "budget=seconds"], ["unequal.*300 seconds, 8,000,000 tokens of training"]),
        (["budget.steps=4", f"budget=episodes budget.episodes={4 * EPISODES}"], []),
        (
            ["budget.steps=3", "budget.steps=4 task.pool=50"],
            ["task.pool", f"unequal budgets between arms: {3 * EPISODES:,} episodes, {4 * EPISODES:,} episodes"],
        ),
    ],
)
def test_what_breaks_pairing_is_named(settings: list[str], says: list[str]) -> None:
    import re

    problems = pairing_problems(configs(*map(_in_epochs, settings)))
    assert len(problems) == len(says)
    assert all(re.search(pattern, problem) for pattern, problem in zip(says, problems, strict=True))
