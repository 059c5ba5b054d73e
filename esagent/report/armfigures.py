"""Figures of what arms did over time, averaged over seeds: curves, credit against truth, allocation, movement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from esagent.report.looks import look, tidy
from esagent.report.traces import Arm, band, learning_curve, movement, names_of, of_steps, truth_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOGETHER = 6
"""Most arms that share one panel of learning curves."""
_KINDS = {
    "path": "path length (sum of all steps)",
    "displacement": "net displacement",
    "signal": "expected-signal movement (sum of step scales)",
}


def learning_curves(arms: Sequence[Arm], baseline: str | None) -> Figure | None:
    """Pool reward over updates with a 95% band over seeds; beyond TOGETHER arms one panel each, with the baseline."""
    shown = [arm for arm in arms if band(arm, learning_curve).steps]
    if not shown:
        return None
    if len(shown) <= TOGETHER:
        figure, panels = _panels(1, width=8.0, height=4.2)
        for place, arm in enumerate(shown):
            _curve(panels[0], arm, place)
        tidy(panels[0])
        panels[0].set_xlabel("updates", fontsize=9)
        panels[0].set_ylabel("mean pool reward", fontsize=9)
        _legend(figure, panels[0])
        return figure
    reference = next((arm for arm in shown if arm.label == baseline), None)
    others = [arm for arm in shown if arm is not reference]
    figure, panels = _panels(len(others))
    for axes, arm in zip(panels, others, strict=False):
        if reference is not None:
            _curve(axes, reference, 0, f"{reference.label} (baseline)")
        _curve(axes, arm, 1, "arm of the panel")
        tidy(axes, arm.label)
    _label_ends(figure, "updates", "mean pool reward")
    _legend(figure, panels[0])
    return figure


def credit_against_truth(arms: Sequence[Arm]) -> Figure | None:
    """Credit of each module over its true share of failures at the same state; on the diagonal credit is right."""
    names = names_of(arms, "credit")

    def pairs(arm: Arm, name: str) -> list[tuple[float, float]]:
        credit, truth = band(arm, of_steps("credit", name)), band(arm, truth_of(name))
        both = [step for step in truth.steps if step in credit.steps]
        return [
            (float(truth.mean[truth.steps.index(step)]), float(credit.mean[credit.steps.index(step)])) for step in both
        ]

    found = {arm.label: {name: points for name in names if (points := pairs(arm, name))} for arm in arms}
    shown = {label: by_name for label, by_name in found.items() if by_name}
    if not shown:
        return None
    figure, panels = _panels(len(shown), square=True)
    for axes, (label, by_name) in zip(panels, shown.items(), strict=False):
        axes.plot([0, 1], [0, 1], color="#000000", linewidth=0.8, linestyle="--")
        for name, points in by_name.items():
            style = look(names.index(name) + 1)
            x, y = zip(*points, strict=True)
            axes.plot(x, y, color=style.colour, linestyle=style.dash, linewidth=0.7, marker=style.marker, markersize=5,
                      markerfacecolor="white", label=name)  # fmt: skip
            axes.plot(x[-1:], y[-1:], color=style.colour, marker=style.marker, markersize=6)
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
        tidy(axes, label)
    _label_ends(figure, "true share of failures (unperturbed agent)", "credit")
    _legend(figure, panels[0])
    return figure


def allocation_over_time(arms: Sequence[Arm]) -> Figure | None:
    """Share of the directions that each module gets, stacked, over updates."""
    names = names_of(arms, "directions")
    if not names:
        return None

    def share(arm: Arm) -> tuple[list[int], np.ndarray]:
        bands = [band(arm, of_steps("directions", name)) for name in names]
        steps = sorted(set.union(*(set(found.steps) for found in bands)))
        counts = np.array([[dict(zip(b.steps, b.mean, strict=True)).get(step, 0.0) for step in steps] for b in bands])
        return steps, counts / np.maximum(counts.sum(axis=0), 1e-12)

    shown = [(arm.label, *found) for arm in arms if (found := share(arm))[0]]
    figure, panels = _panels(len(shown))
    for axes, (label, steps, shares) in zip(panels, shown, strict=False):
        below = np.zeros(len(steps))
        for place, (name, values) in enumerate(zip(names, shares, strict=True)):
            style = look(place + 1)
            axes.fill_between(steps, below, below + values, step="mid", facecolor=style.colour, alpha=0.55,
                              hatch=style.hatch, edgecolor="#000000", linewidth=0.5, label=name)  # fmt: skip
            below = below + values
        axes.set_ylim(0, 1)
        tidy(axes, label)
    _label_ends(figure, "updates", "share of directions")
    _legend(figure, panels[0])
    return figure


def movement_per_block(arms: Sequence[Arm]) -> Figure | None:
    """How far each block was moved, a group of bars per arm; one panel for every quantity that the runs hold."""
    found = {kind: {arm.label: own for arm in arms if (own := movement(arm, kind))} for kind in _KINDS}
    shown = {kind: by_arm for kind, by_arm in found.items() if by_arm}
    if not shown:
        return None
    names = list(dict.fromkeys(name for by_arm in shown.values() for own in by_arm.values() for name in own))
    labels = list(dict.fromkeys(label for by_arm in shown.values() for label in by_arm))
    figure, panels = _panels(len(shown), columns=1, width=9.0, height=0.9 + 0.26 * len(labels) * max(1, len(names) / 2))
    for axes, (kind, by_arm) in zip(panels, shown.items(), strict=False):
        thick = 0.8 / len(names)
        for place, name in enumerate(names):
            style = look(place + 1)
            at = [labels.index(label) + (place - (len(names) - 1) / 2) * thick for label in by_arm]
            axes.barh(at, [own.get(name, 0.0) for own in by_arm.values()], height=thick, facecolor=style.colour,
                      alpha=0.55, hatch=style.hatch, edgecolor="#000000", linewidth=0.6, label=name)  # fmt: skip
        axes.set_yticks(range(len(labels)), labels, fontsize=8.5)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        tidy(axes, _KINDS[kind])
    _legend(figure, panels[0])
    return figure


def _curve(axes: Any, arm: Arm, place: int, label: str = "") -> None:
    found, style = band(arm, learning_curve), look(place)
    axes.fill_between(found.steps, found.low, found.high, facecolor=style.colour, alpha=0.14, linewidth=0)
    axes.plot(found.steps, found.mean, color=style.colour, linestyle=style.dash, marker=style.marker, markersize=4.5,
              markerfacecolor="white" if place else style.colour, linewidth=1.5, label=label or arm.label)  # fmt: skip


def _panels(
    count: int, *, columns: int = 3, width: float = 9.0, height: float = 2.3, square: bool = False
) -> tuple[Figure, Sequence[Any]]:
    """A figure with so many panels, of one scale, and no empty ones."""
    from matplotlib.figure import Figure

    columns = min(columns, count)
    rows = math.ceil(count / columns)
    tall = (min(3.4, width / columns) if square else height) * rows
    figure = Figure(figsize=(width if not square else min(width, 3.4 * columns), tall + 0.8), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=columns > 1, sharey=columns > 1, squeeze=False)
    panels = list(grid.flat)
    for axes in panels[count - columns : count]:  # the lowest of each column, also above a place that stays empty
        axes.tick_params(labelbottom=True)
    for axes in panels[count:]:
        axes.remove()
    return figure, panels[:count]


def _label_ends(figure: Figure, x: str, y: str) -> None:
    figure.supxlabel(x, fontsize=9)
    figure.supylabel(y, fontsize=9)


def _legend(figure: Figure, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)), frameon=False, fontsize=8.5)
