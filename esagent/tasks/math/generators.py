"""Generated problems with one exact answer: the own word problems, and gsm_symbolic of reasoning-gym."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from esagent.core.noise import key
from esagent.tasks.base import Split
from esagent.tasks.math.symbolic import Symbolic
from esagent.tasks.math.templates import TEMPLATES, Template
from esagent.tasks.toolbox.draw import Draw


@dataclass(frozen=True)
class Problem:
    """question and answer, Python code that prints the answer, and the template it was made from."""

    question: str
    answer: str
    code: str
    kind: str


class Generator(Protocol):
    """Problems from templates, each of which belongs to one split."""

    def kinds(self, split: Split) -> Sequence[str]:
        """Names of the templates of a split."""
        ...

    def make(self, split: Split, kind: str, seed: int) -> Problem | None:
        """The problem of one template under a key; None where the values drawn do not fit."""
        ...


class Integers:
    """Word problems of our own (templates.py) over the words and numbers of their split."""

    def kinds(self, split: Split) -> Sequence[str]:
        """Names of the templates of a split."""
        return [template.name for template in TEMPLATES[split]]

    def make(self, split: Split, kind: str, seed: int) -> Problem | None:
        """The problem of one template under a key; None where the numbers drawn do not fit together."""
        template = _TEMPLATES[split][kind]
        draw = Draw(key("math integers", seed), split)
        numbers = [draw.number(low, high) for low, high in template.ranges]
        if not template.fits(*numbers):
            return None
        slots = dict(zip("abcd", numbers, strict=False))
        question = template.text.format(**slots, name=draw.name(), things=draw.thing())
        return Problem(question, str(template.value(*numbers)), template.formula.format(**slots), kind)


class GsmSymbolic:
    """gsm_symbolic of reasoning-gym: variations of a hundred questions of GSM8K (symbolic.py)."""

    def __init__(self) -> None:
        self._symbolic = Symbolic()

    def kinds(self, split: Split) -> Sequence[str]:
        """Numbers of the templates of a split."""
        return self._symbolic.kinds(split)

    def make(self, split: Split, kind: str, seed: int) -> Problem | None:
        """The problem of one template under a key; None where the package fails at it, or gives no whole number."""
        made = self._symbolic.make(kind, seed)
        return Problem(made[0], made[1], f"print({made[1]})", kind) if made else None


_TEMPLATES: Mapping[Split, Mapping[str, Template]] = {
    split: {template.name: template for template in templates} for split, templates in TEMPLATES.items()
}

GENERATORS: Mapping[str, Callable[[], Generator]] = {"integers": Integers, "gsm_symbolic": GsmSymbolic}
