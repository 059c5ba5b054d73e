"""The table of an evaluation: base and trained agent, greedy and sampled, with intervals over tasks."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from esagent.report.text import amount, duration, number, trained_on

_METRICS = {"greedy_reward": "reward", "greedy_success": "success", "sampled_reward": "sampled"}
_LEGEND = "reward, success: greedy; sampled: mean reward of the samples; pass@k: unbiased"


def render_evaluation(result: Mapping[str, Any]) -> Group:
    """The content of an eval.json for a terminal; parts that are missing are left out."""
    parts: list[RenderableType] = [_table(result), _signals(result)]
    if result.get("interventions"):
        parts.append(_interventions(result))
    parts.append(_facts(result))
    if result.get("eval") and result.get("tasks"):
        show = shlex.join(["esagent", "show", str(result["eval"]), "--episode", "0"])
        parts.append(Text(f"\nOne of its conversations:\n  {show}"))
    return Group(*parts)


def interval(value: Mapping[str, Any] | None, signed: bool = False) -> str:
    """`0.512 [0.43, 0.59]`, or `-`."""
    if not value:
        return "-"
    bounds = value.get("interval") or (None, None)
    low, high = ("-" if bound is None or bound != bound else f"{bound:{'+' if signed else ''}.2f}" for bound in bounds)
    return f"{number(value.get('mean'), signed)} [{low}, {high}]"


def _table(result: Mapping[str, Any]) -> Table:
    metrics: Mapping[str, Any] = result.get("metrics") or {}
    columns = [name for name in ("base", "trained", "gain") if any(name in values for values in metrics.values())]
    title = f"{result.get('n', '-')} {result.get('split', '')} tasks, 95% intervals over tasks"
    caption = Text(_LEGEND if "sampled_reward" in metrics else "greedy", style="dim")
    table = Table(title=Text(title), title_justify="left", caption=caption, caption_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for metric, values in metrics.items():
        cells = [Text(interval(values.get(name), signed=name == "gain")) for name in columns]
        table.add_row(_METRICS.get(metric, metric), *cells)
    return table


def _signals(result: Mapping[str, Any]) -> Table:
    signals: Mapping[str, Mapping[str, Any]] = result.get("signals") or {}
    agents = list(dict.fromkeys(name for values in signals.values() for name in values))
    table = Table(title=Text("Share of each module's work that was right, greedy"), title_justify="left")
    table.add_column("module")
    for name in agents:
        table.add_column(name, justify="right")
    for module, values in signals.items():
        table.add_row(module, *(number(values.get(name)) for name in agents))
    return table


def _interventions(result: Mapping[str, Any]) -> Table:
    """Per module the gain of its gold behaviour for each agent, and the run's credit."""
    found: Mapping[str, Mapping[str, Any]] = result["interventions"]
    credit: Mapping[str, float] = result.get("credit") or {}
    told = "; ".join(f"{name}: {values.get('bottleneck') or 'none'}" for name, values in found.items())
    caption = Text(f"the bottleneck is what gains the most ({told})", style="dim")
    title = Text("Reward gained by a module's gold behaviour in its place, greedy")
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    table.add_column("module")
    for name in found:
        table.add_column(name, justify="right", no_wrap=True)
    if credit:
        table.add_column("credit", justify="right")
    for module in dict.fromkeys(module for values in found.values() for module in values.get("gains") or {}):
        cells = [Text(interval((values.get("gains") or {}).get(module), signed=True)) for values in found.values()]
        table.add_row(module, *cells, *([number(credit.get(module))] if credit else []))
    return table


def _facts(result: Mapping[str, Any]) -> Table:
    cost = result.get("cost") or {}
    facts: Sequence[tuple[str, str]] = (
        ("model", str(result.get("model") or "")),
        ("state", f"after {result['state']} of {result.get('updates')} updates" if "state" in result else "base"),
        ("trained on", trained_on(result.get("objective"))),
        ("samples", f"{result['k']} per task, temperature {result['temperature']:g}" if result.get("k") else "none"),
        ("decoding", f"{result.get('decoding') or ''}"),
        ("unscored", ", ".join(result.get("unscored") or ())),
        ("time", duration(result.get("seconds"))),
        ("tokens", f"{amount(cost.get('prompt_tokens'))} prompt, {amount(cost.get('completion_tokens'))} completion"),
        ("folder", str(result.get("eval") or "")),
    )
    table = Table.grid(padding=(0, 2))
    for name, value in facts:
        if value:
            table.add_row(Text(name), Text(value, overflow="fold"))
    return table
