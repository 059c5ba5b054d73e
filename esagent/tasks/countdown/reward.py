"""The reward of countdown, after ES at Scale (arXiv 2509.24372): R = answer + 0.1 format, here R / 1.1 in [0, 1].

    answer   1 when the answer is an expression of the given numbers, each used exactly once, whose value is the target
    format   1 when the answer is nothing but an expression, in <answer> tags or, with two numbers or more, without;
             0.5 when an <answer> with an expression stands among other text; 0.1 when only a reasoning block was closed

The published code demands a <think> block for the whole of `format`; here a model may reason or not, since agents
strip its reasoning. It checks numbers by a pattern and computes floats within 1e-5; here both are exact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from esagent.tasks.countdown.expression import Expression, parse

FORMAT_WEIGHT = 0.1
_TAGGED, _REASONED = 0.5, 0.1
_TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


@dataclass(frozen=True)
class Found:
    """The expression an answer is or holds, if any, and how well it is framed, in [0, 1]."""

    expression: Expression | None
    format: float


def read(answer: str, raw: str) -> Found:
    """What an agent's `answer` commits to: the last tagged expression, or the text itself.

    raw: the model's last message as it wrote it, reasoning included.
    """
    tagged = _TAGS.findall(answer)
    if not tagged:
        expression = parse(answer)
        if expression and len(expression.numbers) == 1:
            expression = None  # the target said again; in tags the published code counts it as well formed
        return Found(expression, 1.0 if expression else _REASONED * ("</think>" in raw))
    expression = parse(tagged[-1])
    alone = len(tagged) == 1 and not _TAGS.sub("", answer).strip()
    return Found(expression, 0.0 if expression is None else 1.0 if alone else _TAGGED)


def solves(expression: Expression | None, numbers: Sequence[int], target: Fraction) -> bool:
    """Whether an expression uses each number exactly once and is the target, exactly."""
    return expression is not None and expression.value == target and sorted(expression.numbers) == sorted(numbers)


def reward(right: bool, form: float) -> float:
    """R / 1.1."""
    return (right + FORMAT_WEIGHT * form) / (1 + FORMAT_WEIGHT)
