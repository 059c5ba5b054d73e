"""No function name, no near copy of a question and no simulated API is in two splits."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.episode import Task
from esagent.tasks.bfcl.dialogues import DIALOGUES, OWNERS, function_owners, offered
from esagent.tasks.bfcl.family import CATEGORIES, SPLITS, BfclFamily
from esagent.tasks.bfcl.rows import QUESTIONS, Row
from esagent.tasks.bfcl.splits import NEAR, near_pairs, split_questions, words

SIZES = {
    "train": {"simple": 226, "multiple": 113, "parallel": 92, "parallel_multiple": 87, "irrelevance": 41},
    "validation": {"simple": 54, "multiple": 23, "parallel": 39, "parallel_multiple": 33, "irrelevance": 55},
    "heldout": {"simple": 119, "multiple": 64, "parallel": 69, "parallel_multiple": 77, "irrelevance": 144},
}
TALKS = {"train": (47, 47, 47, 47), "validation": (32, 30, 31, 32), "heldout": (68, 68, 68, 68)}


@pytest.fixture(scope="module")
def tasks() -> dict[str, list[Task]]:
    family = BfclFamily(CATEGORIES)
    sizes = {split: sum(SIZES[split].values()) + sum(TALKS[split]) for split in SPLITS}
    return {split: list(family.tasks(split, 0, sizes[split])) for split in SPLITS}


def names(task: Task) -> set[str]:
    """Every function ever offered in a task."""
    found = {tool.name for tool in task.tools}
    for at in range(len(task.payload.get("messages", ()))):
        found |= {tool.name for tool in offered(task.payload, at)}
    return found


def texts(task: Task) -> list[str]:
    return [message["text"] for message in task.payload.get("messages", ())] or [task.prompt]


def test_rows_of_every_split_and_category(tasks: dict[str, list[Task]]) -> None:
    for split in SPLITS:
        counts = Counter(task.payload["category"] for task in tasks[split])
        assert counts == SIZES[split] | dict(zip(DIALOGUES, TALKS[split], strict=True))


def test_no_function_is_offered_in_two_splits(tasks: dict[str, list[Task]]) -> None:
    found = {split: {name for task in tasks[split] for name in names(task)} for split in SPLITS}
    assert all(len(names) > 100 for names in found.values())
    for one, other in combinations(SPLITS, 2):
        assert found[one] & found[other] == set()


def test_no_question_is_nearly_that_of_another_split(tasks: dict[str, list[Task]]) -> None:
    for one, other in combinations(SPLITS, 2):
        asked = {split: sorted({t for task in tasks[split] for t in texts(task)}) for split in (one, other)}
        both = [words(text) for split in (one, other) for text in asked[split]]
        at = len(asked[one])
        crossing = [(i, j) for i, j in near_pairs(both) if (i < at) != (j < at)]
        shown = [(asked[one][min(pair)], asked[other][max(pair) - at]) for pair in crossing]
        assert all(text == again for text, again in shown), "only what the family itself says when tools are added"
        assert len(shown) <= 1


def test_a_conversation_has_the_apis_of_its_split_alone(tasks: dict[str, list[Task]]) -> None:
    for split in SPLITS:
        for task in tasks[split]:
            assert {OWNERS[api] for api in task.payload.get("apis", ())} <= {split}


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=6), max_size=12))
def test_near_pairs_are_all_there_are(found: list[frozenset[str]]) -> None:
    slow = {(i, j) for i, j in combinations(range(len(found)), 2) if _near(found[i], found[j])}
    assert set(near_pairs(found)) == slow


def _near(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= NEAR * len(one | other)


def _row(name: str, text: str, *functions: str) -> Row:
    return Row(name, "simple", (text,), (), frozenset(functions), {})


def test_what_hangs_together_stays_together() -> None:
    rows = [
        _row("a", "count the red ships", "f", "g"),
        _row("b", "sing", "g", "h"),
        _row("c", "dance", "h"),
        _row("d", "count the red ships please", "k"),
        _row("e", "buy shares", "get_stock_info"),
        _row("f", "book and buy", "get_stock_info", "book_flight"),
    ]
    split = split_questions(rows, {})
    assert [row.id for row in split["train"]][:4] == ["a", "b", "c", "d"]
    owned = split_questions(rows[4:5], function_owners())
    assert [row.id for row in owned[OWNERS["TradingBot"]]] == ["e"]
    assert not any(split_questions(rows[4:], function_owners()).values()), "names of two splits: left out"


def test_categories_are_those_asked_for() -> None:
    family = BfclFamily(["irrelevance", "simple"])
    assert {task.payload["category"] for task in family.tasks("heldout", 0, 263)} == {"simple", "irrelevance"}
    assert set(CATEGORIES) == {*QUESTIONS, *DIALOGUES}
