"""The learning curve of a run, SVG and PNG: what the unperturbed agent earns over training steps.

Lines differ by dash and marker as well as by shade, so the figure survives a black-and-white print.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esagent.report.rows import Evaluation, History, read_history
from esagent.report.text import trained_on
from esagent.stats.intervals import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS = {"pool": ("#000000", "-", "o"), "validation": ("#1f77b4", "--", "s"), "heldout": ("#b03060", ":", "D")}
_LABELS = {"pool": "training pool", "validation": "validation", "heldout": "held-out"}


def save_curve(run: Path) -> tuple[Path, Path]:
    """Draw the run in folder `run` to `curve.svg` and `curve.png`; returns both paths. Equal data give equal files."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "esagent", "svg.fonttype": "none"}):
        figure = draw(read_history(run))
        targets = run / "curve.svg", run / "curve.png"
        for target, metadata in zip(targets, ({"Date": None}, {"Software": None}), strict=True):
            temporary = target.with_name(f".tmp-{os.getpid()}-{target.name}")
            figure.savefig(temporary, format=target.suffix[1:], dpi=150, metadata=metadata)
            os.replace(temporary, target)
    return targets


def draw(history: History) -> Figure:
    """The figure: evaluations with 95% intervals over tasks, the base line, members lightly, held-out at the end."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4.3), layout="constrained")
    axes = figure.add_subplot()
    _members(axes, history.members)
    for split in ("pool", "validation"):
        if history.evaluations.get(split):
            _line(axes, split, history.evaluations[split])
    _heldout(axes, history)
    axes.set_xlabel("training step (updates done)")
    axes.set_ylabel("mean reward of the unperturbed agent")
    axes.set_title(_title(history.summary), fontsize=10)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False, loc="best")
    return figure


def _members(axes: Axes, members: list[tuple[int, float, float]]) -> None:
    if members:
        steps, means, spreads = (list(column) for column in zip(*members, strict=True))
        low = [mean - spread for mean, spread in zip(means, spreads, strict=True)]
        high = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
        axes.fill_between(steps, low, high, color="0.9", linewidth=0)
        axes.plot(steps, means, color="0.65", linewidth=1, label="members of the population (mean, spread)")


def _line(axes: Axes, split: str, evaluations: list[Evaluation]) -> None:
    colour, dash, _ = _LOOKS[split]
    steps, means = [e.step for e in evaluations], [e.mean for e in evaluations]
    _points(axes, split, evaluations, steps, dash, f"{_LABELS[split]} (95% interval over tasks)")
    if split == "pool":
        axes.axhline(means[0], color=colour, linewidth=0.8, dashes=(1, 3), label="base agent on the pool")


def _heldout(axes: Axes, history: History) -> None:
    """Base and trained agent on held-out tasks, at the right end: no curve, for it must not guide a choice."""
    evaluations = history.evaluations.get("heldout", [])
    if not evaluations:
        return
    shown = [e for split in ("pool", "validation") for e in history.evaluations.get(split, [])] + evaluations
    end, gap = max(e.step for e in shown), 0.06 * max(1, max(e.step for e in shown))
    ends = [evaluations[0], evaluations[-1]] if len(evaluations) > 1 else evaluations
    _points(axes, "heldout", ends, [end + gap] * len(ends), "", "held-out: base and trained")
    if len(ends) == 2:
        colour = _LOOKS["heldout"][0]
        style: dict[str, Any] = {"arrowstyle": "->", "color": colour, "linestyle": ":"}
        axes.annotate("", (end + gap, ends[1].mean), (end + gap, ends[0].mean), arrowprops=style)
        for evaluation, name in zip(ends, ("base", "trained"), strict=True):
            place = (end + 1.25 * gap, evaluation.mean)
            axes.annotate(name, place, fontsize=8, color=colour, va="center")
        axes.margins(x=0.09)


def _points(axes: Axes, split: str, evaluations: list[Evaluation], at: list[Any], dash: str, label: str) -> None:
    colour, _, marker = _LOOKS[split]
    below, above = zip(*(_bars(e) for e in evaluations), strict=True)
    axes.errorbar(
        at,
        [e.mean for e in evaluations],
        yerr=[list(below), list(above)],
        color=colour,
        linestyle=dash or "none",
        marker=marker,
        markersize=4.5,
        markerfacecolor="white" if split != "pool" else colour,
        linewidth=1.5,
        elinewidth=0.8,
        capsize=2.5,
        label=label,
    )


def _bars(evaluation: Evaluation) -> tuple[float, float]:
    """Lengths of the error bar below and above the mean; none where fewer than two tasks are known."""
    if len(evaluation.rewards) < 2:
        return 0.0, 0.0
    interval = mean_interval(evaluation.rewards, evaluation.tasks or None)
    return max(0.0, evaluation.mean - interval.low), max(0.0, interval.high - evaluation.mean)


def _title(summary: dict[str, Any]) -> str:
    parts = [str(summary[name]) for name in ("model", "decoding") if summary.get(name)]
    if summary.get("objective") == "likelihood":
        parts.append(f"trained on {trained_on('likelihood')}")
    if "seed" in summary:
        parts.append(f"seed {summary['seed']}")
    return ", ".join(parts)
