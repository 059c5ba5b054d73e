"""Splits of the toolbox family share no sentence, no value and no chain of tools: shown on thousands of tasks."""

import re
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from esagent.core.episode import Task
from esagent.tasks.toolbox import ToolboxFamily
from esagent.tasks.toolbox.family import SPLITS
from esagent.tasks.toolbox.skills import FOLLOWS, STARTS
from esagent.tasks.toolbox.templates import DISTRACTORS, FRAMES, LEVELS, PAIRS
from esagent.tasks.toolbox.words import LETTERS, NAMES, TABLES, THINGS, WORDS

COUNT = 1000
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@pytest.fixture(scope="module")
def tasks() -> dict[str, list[Task]]:
    families = [ToolboxFamily(level) for level in LEVELS]
    return {split: [task for f in families for task in f.tasks(split, 11, COUNT)] for split in SPLITS}


def _numbers(task: Task) -> Iterable[str]:
    """Every number in the question or its tables, dates aside, and the year of every date."""
    shown = " ".join([task.prompt, *(value for rows in task.payload["tables"].values() for value in rows.values())])
    yield from re.findall(r"\d+", DATE.sub(" ", shown))
    yield from (date[:4] for date in DATE.findall(task.prompt))


def _keys(task: Task) -> Iterable[str]:
    for name, rows in task.payload["tables"].items():
        yield name
        yield from rows
        yield from (value for value in rows.values() if not value.isdecimal())


def _strings(task: Task) -> Iterable[str]:
    for call in task.payload["calls"]:
        if call["name"] == "text" and "$" not in call["arguments"]["string"]:
            yield call["arguments"]["string"]


def _units(task: Task) -> Iterable[tuple[str, str]]:
    for call in task.payload["calls"]:
        if call["name"] == "convert":
            yield call["arguments"]["from"], call["arguments"]["to"]


def _letters(task: Task) -> Iterable[str]:
    return (call["arguments"]["letter"] for call in task.payload["calls"] if "letter" in call["arguments"])


def _people(task: Task) -> Iterable[str]:
    pools = {word for pool in (*NAMES.values(), *THINGS.values()) for word in pool}
    return (word for word in re.findall(r"[A-Za-z]+", task.prompt) if word in pools)


def _chains(task: Task) -> Iterable[tuple[str, ...]]:
    return pairwise(call["name"] for call in task.payload["calls"])


def _masked(task: Task) -> Iterable[str]:
    """The sentences with every slot alike, so that two differing in slot names only count as one."""
    return (" ".join(re.sub(r"\{\w+\}", "_", text).casefold().split()) for text in task.payload["wordings"])


SHARED_BY_NO_TWO: dict[str, Callable[[Task], Iterable[object]]] = {
    "content": lambda task: [task.content_hash],
    "question": lambda task: [task.prompt],
    "wording": _masked,
    "number": _numbers,
    "date": lambda task: DATE.findall(task.prompt),
    "table, key or entry": _keys,
    "word": _strings,
    "pair of units": _units,
    "letter": _letters,
    "name or thing": _people,
    "chain": _chains,
}


@pytest.mark.parametrize("kind", SHARED_BY_NO_TWO)
def test_generated_tasks_share_nothing(tasks: dict[str, list[Task]], kind: str) -> None:
    found = {split: {item for task in tasks[split] for item in SHARED_BY_NO_TWO[kind](task)} for split in SPLITS}
    assert all(found.values())
    for one, other in (("train", "validation"), ("train", "heldout"), ("validation", "heldout")):
        assert found[one] & found[other] == set()


def test_the_pools_themselves_share_nothing() -> None:
    wordings = [w for skill in STARTS.values() for w in (skill.questions, skill.clauses)]
    wordings += [skill.clauses for skill in FOLLOWS.values()] + list(FRAMES.values()) + [DISTRACTORS]
    for pool in (WORDS, NAMES, THINGS, TABLES, LETTERS, PAIRS):
        members = [item for split in SPLITS for item in pool[split]]
        assert len(set(members)) == len(members)
    owner: dict[str, str] = {}
    for wording in wordings:
        for split in SPLITS:
            for sentence in wording[split]:
                masked = re.sub(r"\{\w+\}", "_", sentence).casefold()
                assert owner.setdefault(masked, split) == split


def test_no_sentence_contains_a_value_of_a_pool() -> None:
    pool = {word for words in (*WORDS.values(), *TABLES.values()) for word in words}
    for skill in STARTS.values():
        for sentences in (*skill.questions.values(), *skill.clauses.values()):
            for sentence in sentences:
                fixed = re.sub(r"\{\w+\}", "", sentence)
                assert not any(character.isdigit() for character in fixed)
                assert not set(re.findall(r"[a-z]+", fixed)) & pool


def test_every_split_has_the_same_skills(tasks: dict[str, list[Task]]) -> None:
    starts = {split: {task.payload["template"][0] for task in tasks[split]} for split in SPLITS}
    assert starts["train"] == starts["validation"] == starts["heldout"] == set(STARTS)
