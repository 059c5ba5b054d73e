"""The table of task families that the contract suite runs over; a new family is one more row."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from esagent.config.names import MODULES
from esagent.tasks.base import TaskFamily
from esagent.tasks.bfcl import BfclFamily
from esagent.tasks.countdown import CountdownFamily
from esagent.tasks.jsonl import JsonlFamily
from esagent.tasks.math import MathFamily
from esagent.tasks.qa import QaFamily, QaFileFamily
from esagent.tasks.synthetic import SyntheticFamily
from esagent.tasks.toolbox import ToolboxFamily
from tests.tasks.qa.rows import hotpot, write


def jsonl_rows() -> TaskFamily:
    """400 rows of two-digit sums, split by hash, with a calculator on offer."""
    rows = [{"question": f"What is {a} plus {b}?", "answer": a + b} for a in range(10, 30) for b in range(40, 60)]
    return _from_file(rows, lambda path: JsonlFamily(path, "number", tools=["calculator"]))


def _from_file(rows: Sequence[Mapping[str, object]], make: Callable[[Path], TaskFamily]) -> TaskFamily:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return make(path)


def math_rows() -> TaskFamily:
    """400 questions with answers of many kinds, no two of them near-duplicates, split by hash."""
    answers = (
        "{n}",
        r"\frac{{{n}}}{{7}}",
        r"{n}\sqrt{{3}}",
        r"\left( {n}, \frac{{\pi}}{{2}} \right)",
        r"\text{{word}}",
    )
    rows = []
    for n in range(400):
        words = [f"{name}{n}" for name in ("alpha", "beta", "gamma", "delta", "rho", "phi")]
        words = [word.translate(_LETTERS) for word in words]
        rows.append({"problem": f"Find {' '.join(words)} of the figure.", "answer": answers[n % 5].format(n=n + 2)})
    return _from_file(rows, lambda path: MathFamily("math500", str(path)))


def countdown_rows() -> TaskFamily:
    """400 puzzles of three numbers without solutions, split by their numbers."""
    rows = [{"numbers": [n + 1, 2 * n + 5, 3], "target": str((n + 1) * 3 + 2 * n + 5)} for n in range(400)]
    return _from_file(rows, lambda path: CountdownFamily(str(path)))


def qa_rows() -> TaskFamily:
    """150 rows as of HotpotQA, 50 to a split."""
    splits = ("train", "validation", "heldout")
    with tempfile.TemporaryDirectory() as folder:
        rows = [{**hotpot(i), "split": splits[i % 3]} for i in range(150)]
        return QaFileFamily(write(Path(folder) / "hotpot.jsonl", rows))


FAMILIES: dict[str, Callable[[], TaskFamily]] = {
    "toolbox-easy": lambda: ToolboxFamily("easy"),
    "toolbox-medium": lambda: ToolboxFamily("medium"),
    "toolbox-hard": lambda: ToolboxFamily("hard"),
    "jsonl": jsonl_rows,
    "math": MathFamily,
    "math-gsm_symbolic": lambda: MathFamily(generators=["gsm_symbolic"], reward="copes"),
    "math-rows": math_rows,
    "countdown": CountdownFamily,
    "countdown-rows": countdown_rows,
    "synthetic": lambda: SyntheticFamily(MODULES["chain"], 0.5),
    "qa-easy": lambda: QaFamily("easy"),
    "qa-hard": lambda: QaFamily("hard"),
    "qa-rows": qa_rows,
    "bfcl": BfclFamily,
    "bfcl-conversations": lambda: BfclFamily(["multi_turn_base", "multi_turn_miss_func"]),
}

ENDLESS = frozenset(name for name in FAMILIES if name.startswith("toolbox")) | {
    *("math", "math-gsm_symbolic", "countdown", "synthetic")
}
"""Those that are generated, without end in practice."""

_LETTERS = str.maketrans("0123456789", "abcdefghij")
