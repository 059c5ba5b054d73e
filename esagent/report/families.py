"""Families of tasks as rows and as a table, and single tasks with their gold, for people and for other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from esagent.core.episode import Task, Trajectory
from esagent.report.conversation import call_text
from esagent.runs.jsonio import plain
from esagent.tasks.about import about_of


def family_rows(families: Mapping[str, object]) -> list[dict[str, Any]]:
    """One row per family, in the order of the registry."""
    rows = []
    for name, family in families.items():
        told = about_of(family)
        missing = told.missing()
        rows.append(
            {
                "family": name,
                "summary": told.summary,
                "splits": dict(told.splits),
                "levels": list(told.levels),
                "source": told.source,
                "licence": told.licence,
                "installed": not missing,
                "missing": missing,
            }
        )
    return rows


def families_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows for people."""
    found = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("family", "tasks", "splits", "levels", "source", "licence", "data"):
        found.add_column(heading, overflow="fold")
    for row in rows:
        splits, levels = _splits(row["splits"]), ", ".join(row["levels"])
        cells = [row["summary"], splits, levels, row["source"], row["licence"], row["missing"] or "there"]
        found.add_row(Text(row["family"], style="bold"), *(Text(cell or "-") for cell in cells))
    return found


def described(task: Task, gold: Trajectory) -> dict[str, Any]:
    """A task with its gold episode, as plain data."""
    calls = [
        {
            "name": turn.call.name,
            "arguments": plain(turn.call.arguments),
            "result": turn.result.output if turn.result else None,
        }
        for turn in gold.turns
        if turn.call is not None
    ]
    return {
        "id": task.id,
        "split": task.split,
        "kind": task.kind,
        "question": task.prompt,
        "tools": [plain(tool) for tool in task.tools],
        "gold": {"plan": list(gold.plan), "calls": calls, "answer": gold.answer},
        "payload": plain(task.payload),
    }


def render_tasks(facts: Mapping[str, Any]) -> list[RenderableType]:
    """Tasks as `described`, one below the other."""
    parts: list[RenderableType] = []
    for task in facts["tasks"]:
        parts += [Rule(Text(task["id"], style="bold"), align="left", style="dim"), _task(task), Text()]
    return parts


def _task(task: Mapping[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    gold = task["gold"]
    lines = [("question", task["question"])]
    for tool in task["tools"]:
        arguments = ", ".join(tool["parameters"].get("properties", ()))
        lines.append(("tools", f"{tool['name']}({arguments}): {tool['description']}"))
    lines += [("plan", step) for step in gold["plan"]]
    for call in gold["calls"]:
        lines.append(("calls", call_text(call)))
        if call["result"] is not None:
            lines.append(("", f"→ {call['result']}"))
    lines.append(("answer", gold["answer"]))
    shown = ""
    for label, text in lines:
        style = "bold" if label in ("question", "answer") else ""
        table.add_row(Text("" if label == shown else label, style="dim"), Text(text, overflow="fold", style=style))
        shown = label or shown
    return table


def _splits(splits: Mapping[str, str]) -> str:
    """`train 10, heldout 5`, or the one text where it is the same for all."""
    if len(set(splits.values())) == 1:
        return next(iter(splits.values()))
    return "\n".join(f"{name} {count}" for name, count in splits.items())
