"""The pieces that templates are made of: skills that start a task, skills that go on from a result, and levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from esagent.tasks.base import Split
from esagent.tasks.toolbox.draw import Draw

Kind = Literal["number", "word", "date", "final"]
"""What a hop results in, and what the next hop can take; no skill takes a `final` result."""

Wordings = Mapping[Split, tuple[str, ...]]
"""Per split, sentences with slots such as {a}. No sentence belongs to two splits."""


@dataclass(frozen=True)
class Level:
    """How hard tasks are.

    tools: offered, and needed by the tasks.
    hops: probability of 1, 2 and 3 hops.
    high: largest number in a question.
    rows: rows of a table. items: most items of a list. span: most days between two dates.
    distractor: an idle sentence stands before the question.
    without: skills left out.
    """

    tools: tuple[str, ...]
    hops: tuple[float, float, float]
    high: int
    rows: int
    items: int
    span: int
    distractor: bool = False
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Drawn:
    """The values of one hop: arguments of the call ("$1" is the result of hop 1), slots of the wording, tables.

    carriers: words that may follow the answer, such as its unit.
    """

    arguments: Mapping[str, Any]
    slots: Mapping[str, object]
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    carriers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """A skill whose arguments all stand in the question.

    questions: whole questions for a task of one hop. clauses: commands that begin a longer one ("add 3 and 4").
    """

    name: str
    tool: str
    gives: Kind
    draw: Callable[[Draw, Level], Drawn]
    questions: Wordings
    clauses: Wordings


@dataclass(frozen=True)
class Follow:
    """A skill that takes the result before it ("it" in its clauses).

    draw: also takes the marker of that result ("$1") and the result itself; None when the result does not suit it.
    """

    name: str
    tool: str
    takes: Kind
    gives: Kind
    draw: Callable[[Draw, Level, str, str], Drawn | None]
    clauses: Wordings
