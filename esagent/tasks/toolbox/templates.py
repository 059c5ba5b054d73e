"""Levels, chains of tools per split, and the sentences that hold the parts of a longer task together."""

from __future__ import annotations

import functools

from esagent.tasks.base import Split
from esagent.tasks.toolbox.skill import Level, Wordings
from esagent.tasks.toolbox.skills import FOLLOWS, STARTS

Template = tuple[str, ...]
"""Names of skills, one per hop."""

LEVELS: dict[str, Level] = {
    "easy": Level(
        tools=("calculator", "convert", "days", "lookup", "text", "list"),
        hops=(0.8, 0.2, 0.0),
        high=60,
        rows=4,
        items=4,
        span=60,
        without=frozenset({"calculator.remainder", "text.count"}),
    ),
    "medium": Level(
        tools=("calculator", "convert", "days", "date", "weekday", "lookup", "text", "list"),
        hops=(0.5, 0.5, 0.0),
        high=300,
        rows=6,
        items=5,
        span=200,
    ),
    "hard": Level(
        tools=("calculator", "convert", "days", "date", "weekday", "lookup", "text", "list"),
        hops=(0.2, 0.4, 0.4),
        high=2000,
        rows=8,
        items=6,
        span=330,
        distractor=True,
    ),
}

PAIRS: dict[Split, tuple[tuple[str, str], ...]] = {
    "train": (
        ("lookup", "calculator"),
        ("list", "calculator"),
        ("lookup", "text"),
        ("calculator", "list"),
        ("calculator", "date"),
        ("date", "weekday"),
    ),
    "validation": (
        ("text", "calculator"),
        ("convert", "list"),
        ("text", "list"),
        ("lookup", "list"),
        ("list", "date"),
    ),
    "heldout": (
        ("convert", "calculator"),
        ("days", "calculator"),
        ("lookup", "convert"),
        ("list", "convert"),
        ("calculator", "convert"),
        ("lookup", "lookup"),
        ("lookup", "date"),
        ("date", "days"),
    ),
}
"""Which tool may follow which; no pair belongs to two splits, so longer tasks of held-out are new compositions."""

FRAMES: dict[int, Wordings] = {
    2: {
        "train": (
            "First {a}, then {b}.",
            "{A}. Then {b}.",
            "{A}, and then {b}. What is the result?",
            "Please {a}, then {b}.",
            "I want you to {a} and to {b} afterwards.",
        ),
        "validation": ("Two steps: {a}; {b}.", "{A} and after that {b}."),
        "heldout": ("Start like this: {a}. Next, {b}.", "{A}. Once that is done, {b}.", "In order: {a}, next {b}."),
    },
    3: {
        "train": ("First {a}, then {b}, then {c}.", "{A}. Then {b}. Then {c}."),
        "validation": ("Three steps: {a}; {b}; {c}.",),
        "heldout": ("Start like this: {a}. Next, {b}. Last, {c}.", "In order: {a}, next {b}, finally {c}."),
    },
}
"""Sentences around the clauses of a chain; {A} is {a} with a capital."""

DISTRACTORS: Wordings = {
    "train": ("{name} has {n} {things} at home.", "There are {n} {things} on the shelf."),
    "validation": ("The shop sold {n} {things} today.",),
    "heldout": ("By the way, {name} once saw {n} {things}.", "Somewhere {n} {things} lie around."),
}


@functools.cache
def templates(level: str, split: Split, hops: int) -> dict[tuple[str, ...], tuple[Template, ...]]:
    """All templates with this many hops, by the tools they need in order. Later hops fit the kind of the result."""
    settings = LEVELS[level]
    chains: list[Template] = [name for name in ((start,) for start in STARTS) if name[0] not in settings.without]
    for _ in range(hops - 1):
        chains = [(*chain, name) for chain in chains for name in FOLLOWS if _fits(chain[-1], name, split)]
    grouped: dict[tuple[str, ...], list[Template]] = {}
    for chain in chains:
        tools = tuple(skill_tool(name) for name in chain)
        if set(tools) <= set(settings.tools):
            grouped.setdefault(tools, []).append(chain)
    return {tools: tuple(group) for tools, group in grouped.items()}


def skill_tool(name: str) -> str:
    """The tool a skill needs."""
    return STARTS[name].tool if name in STARTS else FOLLOWS[name].tool


def _fits(before: str, name: str, split: Split) -> bool:
    gives = STARTS[before].gives if before in STARTS else FOLLOWS[before].gives
    return FOLLOWS[name].takes == gives and (skill_tool(before), FOLLOWS[name].tool) in PAIRS[split]
