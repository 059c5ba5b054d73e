"""Figures of differences: a forest of paired differences against a margin, and their response to a setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from esagent.report.looks import look, tidy
from esagent.stats.regression import LinearFit
from esagent.stats.response import ResponseCurve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Row(NamedTuple):
    """One line of a forest. margin: 0 without one. note: stands at its right."""

    label: str
    mean: float
    low: float
    high: float
    margin: float
    note: str = ""


def forest(rows: Sequence[Row], title: str, margin: float | None = None) -> Figure:
    """Differences with their intervals, one row each; the margin is drawn for all rows, or each row's own beside it.

    A marker is filled where the interval leaves out 0. An interval that rules nothing out is a dotted line.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.3 + 0.34 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    finite = [abs(v) for row in rows for v in (row.mean, row.low, row.high, row.margin) if math.isfinite(v)]
    reach = 1.08 * max([*finite, abs(margin or 0.0), 1e-9])
    if margin is not None:
        axes.axvspan(-margin, margin, facecolor="#e6e6e6", edgecolor="none", zorder=0)
        for at in (-margin, margin):
            axes.axvline(at, color="#000000", linewidth=0.8, linestyle="--", zorder=1)
    axes.axvline(0.0, color="#000000", linewidth=1.0, zorder=1)
    for place, row in enumerate(rows):
        known = math.isfinite(row.low) and math.isfinite(row.high)
        ends = (row.low, row.high) if known else (-reach, reach)
        axes.plot(ends, (place, place), color="#000000", linewidth=1.4, linestyle="-" if known else ":")
        clear = known and (row.low > 0 or row.high < 0)
        face = "#000000" if clear else "#ffffff"
        axes.plot([row.mean], [place], marker="s", markersize=6, color="#000000", markerfacecolor=face)
        if margin is None and row.margin:
            for at in (-row.margin, row.margin):
                axes.plot([at, at], [place - 0.35, place + 0.35], color="#000000", linewidth=1.0, linestyle="--")
        if row.note:
            axes.annotate(row.note, (1.01, place), xycoords=("axes fraction", "data"), fontsize=8.5, va="center")
    axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=8.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-reach, reach)
    axes.set_xlabel(title, fontsize=9)
    tidy(axes)
    return figure


def responses(curves: Mapping[str, ResponseCurve], over: str, what: str) -> Figure:
    """Every arm's difference over a setting: means with intervals over seeds, and the line with its band."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(0.0, color="#000000", linewidth=0.8)
    for place, (arm, curve) in enumerate(curves.items()):
        style = look(place)
        xs, means = [point.x for point in curve.points], [point.mean for point in curve.points]
        below, above = zip(*(_bars(point.mean, *point.interval) for point in curve.points), strict=True)
        label = arm
        if curve.slopes is not None:
            label = f"{arm}: slope {curve.slopes.fit.slope:+.3g}, R² {curve.slopes.fit.r_squared:.2f}"
            _line(axes, curve.slopes.fit, xs, place)
        axes.errorbar(
            xs,
            means,
            yerr=[below, above],
            color=style.colour,
            linestyle="none",
            marker=style.marker,
            markersize=6,
            markerfacecolor="white" if place else style.colour,
            capsize=3,
            linewidth=1.2,
            label=label,
        )
    axes.set_xlabel(over, fontsize=9)
    axes.set_ylabel(what, fontsize=9)
    tidy(axes)
    figure.legend(loc="outside lower center", ncols=1 if len(curves) < 4 else 2, frameon=False, fontsize=8.5)
    return figure


def losses_on(fit: LinearFit, losses: Sequence[tuple[float, Sequence[float]]]) -> Figure:
    """Loss over x: (x, losses by seed) as dots, their means as squares, the line through these and its band."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(0.0, color="#000000", linewidth=0.8)
    for x, values in losses:
        axes.plot([x] * len(values), values, color="#000000", linestyle="none", marker=".", markersize=4, alpha=0.45)
    xs = [x for x, _ in losses]
    axes.plot(xs, [float(np.mean(values)) for _, values in losses], color="#000000", linestyle="none", marker="s",
              markersize=6, label="mean over seeds")  # fmt: skip
    _line(axes, fit, xs, 1)
    axes.set_xlabel("x", fontsize=9)
    axes.set_ylabel("loss", fontsize=9)
    tidy(axes, f"slope {fit.slope:+.3g}, R² {fit.r_squared:.3f}")
    return figure


def _line(axes: Any, fit: LinearFit, xs: Sequence[float], place: int) -> None:
    style = look(place)
    grid = np.linspace(min(xs), max(xs), 50)
    axes.plot(grid, fit.at(grid), color=style.colour, linestyle=style.dash, linewidth=1.4)
    low, high = fit.band(grid)
    if np.isfinite(low).all():
        axes.fill_between(
            grid, low, high, facecolor=style.colour, alpha=0.12, hatch=style.hatch, edgecolor=style.colour, linewidth=0
        )


def _bars(mean: float, low: float, high: float) -> tuple[float, float]:
    """Lengths of the error bar below and above; none where nothing is ruled out."""
    return (mean - low, high - mean) if math.isfinite(low) and math.isfinite(high) else (0.0, 0.0)
