"""The closing table of a run, on stdout: did it get better, by how much, at what cost, and what to type next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from esagent.report import spending
from esagent.report.calibration import calibration_table
from esagent.report.text import amount, duration, number, size, trained_on

_SPLITS = {"pool": "training pool", "validation": "validation", "heldout": "held-out"}


def print_summary(summary: Mapping[str, Any], stream: TextIO | None = None) -> None:
    """Print `summary` (the content of summary.json); parts that are missing are left out.

    Rows per split: tasks, base, trained, gain and its 95% interval over tasks. `signals` of a split, when present, maps
    a module to its {"base", "trained"} share of verifiably right work; `overrides` are the settings the user typed.
    """
    console = Console(file=stream or sys.stdout, highlight=False, soft_wrap=True)
    console.print(rewards_table(summary))
    signals = signals_table(summary)
    if signals.row_count:
        console.print(signals)
    if summary.get("calibration"):
        console.print(calibration_table(summary["calibration"]))
    console.print(_facts(summary))
    if summary.get("run"):
        console.print(_next(summary))


def rewards_table(summary: Mapping[str, Any]) -> Table:
    """Base, trained and gain per split of a summary."""
    table = Table(title=Text("Mean reward of the unperturbed agent"), title_justify="left")
    table.add_column("tasks")
    for heading in ("n", "base", "trained", "gain", "95% interval of the gain"):
        table.add_column(heading, justify="right")
    for split, label in _SPLITS.items():
        part = summary.get(split)
        if part:
            low, high = part.get("gain_interval") or (None, None)
            interval = f"[{number(low, signed=True)}, {number(high, signed=True)}]"
            values = (number(part.get("base")), number(part.get("trained")), number(part.get("gain"), signed=True))
            table.add_row(label, str(part.get("n", "-")), *values, Text(interval))
    return table


def signals_table(summary: Mapping[str, Any]) -> Table:
    """Base and trained signal per module and split of a summary; without rows where it has none."""
    table = Table(title=Text("Share of each module's work that was right"), title_justify="left")
    table.add_column("module")
    found = {split: summary[split]["signals"] for split in _SPLITS if (summary.get(split) or {}).get("signals")}
    for split in found:
        table.add_column(f"{_SPLITS[split]}: base → trained", justify="right")
    for module in dict.fromkeys(module for signals in found.values() for module in signals):
        cells = (signals.get(module, {}) for signals in found.values())
        table.add_row(module, *(f"{number(c.get('base'))} → {number(c.get('trained'))}" for c in cells))
    return table


def _facts(summary: Mapping[str, Any]) -> Table:
    memory = summary.get("peak_memory_bytes")
    state = (
        f"after step {summary['selected_step']} of {summary.get('steps', '-')}" if "selected_step" in summary else ""
    )
    facts = {
        "model": str(summary.get("model") or ""),
        "trained on": trained_on(summary.get("objective")),
        "decoding": str(summary.get("decoding") or ""),
        "seed": str(summary.get("seed", "")),
        "chosen state": state,
        "time": duration(summary["seconds"]) if "seconds" in summary else "",
        "speed": f"{amount(summary['tokens_per_second'])} tokens/s" if summary.get("tokens_per_second") else "",
        **spending.facts(summary.get("budget"), summary.get("ledger") or {}),
        "peak memory": size(memory) if memory else "",
        "run": str(summary.get("run") or ""),
    }
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        if value:
            table.add_row(Text(name), Text(value, overflow="fold"))
    return table


def _next(summary: Mapping[str, Any]) -> Text:
    """Commands to type next: look closer, evaluate further, and see whether it holds for other seeds."""
    seed = int(summary.get("seed", 0))
    settings = [text for text in summary.get("overrides") or () if not text.startswith("seed=")]
    again = shlex.join(["esagent", "train", *settings, f"seed={seed + 1}"])
    many = shlex.join(["esagent", "train", "--multirun", *settings, f"seed={seed + 1},{seed + 2},{seed + 3}"])
    run = str(summary["run"])
    return Text(
        f"\nLearning curve: {run}/curve.svg\nNext:\n"
        f"  {shlex.join(['esagent', 'show', run, '--html'])}    # the run on a page\n"
        f"  {shlex.join(['esagent', 'show', run, '--episode', '0'])}    # one of its conversations\n"
        f"  {shlex.join(['esagent', 'eval', run, '--k', '8'])}    # samples and pass@k, base beside trained\n"
        f"  {again}    # does it hold for another seed?\n"
        f"  {many}    # for three of them?"
    )
