"""The generated family as a whole: levels, options, what it shares between splits, and running out of tasks."""

from __future__ import annotations

from typing import Any

import pytest

from esagent.errors import ConfigError
from esagent.tasks.qa import QaFamily
from esagent.tasks.qa.environment import SPLITS
from esagent.tasks.qa.family import LEVELS
from esagent.tasks.qa.plans import right_steps


@pytest.mark.parametrize("level", LEVELS)
def test_levels_ask_for_as_many_searches_as_they_say(level: str) -> None:
    hops = [len(task.payload["calls"]) for task in QaFamily(level).tasks("train", 1, 400)]
    for count, share in enumerate(LEVELS[level].hops, start=1):
        # No two are about the same, and of longer chains there are fewer, so these come out a little rarer than drawn.
        assert hops.count(count) / 400 == pytest.approx(share, abs=0.12)


def test_questions_of_splits_share_no_kind_of_two_or_more_hops() -> None:
    kinds = {s: {t.kind for t in QaFamily("hard").tasks(s, 2, 300) if " " in t.kind} for s in SPLITS}
    assert not kinds["train"] & kinds["heldout"]
    assert not kinds["train"] & kinds["validation"]
    assert not kinds["validation"] & kinds["heldout"]


def test_a_split_ends_where_all_has_been_asked_and_says_how_many_tasks_it_has() -> None:
    family = QaFamily("easy")
    assert len({task.content_hash for task in family.tasks("heldout", 4, 1560)}) == 1560
    with pytest.raises(ConfigError, match="qa/easy has 1560 heldout tasks, 1561 were asked for"):
        family.tasks("heldout", 4, 1561)


def test_the_numbers_that_are_told_are_right() -> None:
    for split in SPLITS:
        counts = [len(QaFamily(level)._walkable(split)) for level in LEVELS]
        assert QaFamily.about.splits[split] == f"{min(counts):,} to {max(counts):,}"


def test_one_search_tool_instead_of_sections() -> None:
    task = QaFamily("hard", sections=False).tasks("train", 0, 1)[0]
    assert [tool.name for tool in task.tools] == ["search"]
    assert {call["name"] for call in task.payload["calls"]} == {"search"}
    assert QaFamily("hard", sections=False).validate() == []


def test_gold_plans_are_right_and_no_other_hops_plan_is() -> None:
    for task in QaFamily("hard").tasks("heldout", 0, 60):
        plan, steps = task.payload["plan"], task.payload["steps"]
        assert right_steps(plan, steps) == [True] * len(plan)
        if len(plan) > 1:
            assert not any(right_steps(plan[1:] + plan[:1], steps))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"level": "esy"}, "no level 'esy'; there are easy, medium, hard"),
        ({"universe": "x"}, "universe: a whole number is needed, not 'x'"),
        ({"sections": 1}, "sections: true or false is needed, not 1"),
        ({"weights": {"plan": 1.0}}, "sum to 1"),
    ],
)
def test_mistakes_are_one_line(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        QaFamily(**options)
