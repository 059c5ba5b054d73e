"""The table of task families that the contract suite runs over; a new family is one more row."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from esagent.config.names import MODULES
from esagent.tasks.base import TaskFamily
from esagent.tasks.bfcl import BfclFamily
from esagent.tasks.jsonl import JsonlFamily
from esagent.tasks.synthetic import SyntheticFamily
from esagent.tasks.toolbox import ToolboxFamily


def jsonl_rows() -> TaskFamily:
    """400 rows of two-digit sums, split by hash, with a calculator on offer."""
    rows = [{"question": f"What is {a} plus {b}?", "answer": a + b} for a in range(10, 30) for b in range(40, 60)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sums.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return JsonlFamily(path, "number", tools=["calculator"])


FAMILIES: dict[str, Callable[[], TaskFamily]] = {
    "toolbox-easy": lambda: ToolboxFamily("easy"),
    "toolbox-medium": lambda: ToolboxFamily("medium"),
    "toolbox-hard": lambda: ToolboxFamily("hard"),
    "jsonl": jsonl_rows,
    "synthetic": lambda: SyntheticFamily(MODULES["chain"], 0.5),
    "bfcl": BfclFamily,
    "bfcl-conversations": lambda: BfclFamily(["multi_turn_base", "multi_turn_miss_func"]),
}
