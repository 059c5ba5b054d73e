"""Figures for a page: matplotlib's SVG without what a browser might fetch, in colours that the page's theme decides.

Lines differ by dash and marker as well, so a black-and-white print can be read.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from esagent.report.results import in_order
from esagent.report.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_THEME = {
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    "#e6e6e6": "var(--band)",
    "#a6a6a6": "var(--faint)",
    "#b0b0b0": "var(--faint)",
    "#1f77b4": "var(--blue)",
    "#b03060": "var(--red)",
    "#2e7d32": "var(--green)",
    "#8a5a00": "var(--brown)",
}
_LOOKS = (
    ("#000000", "-", "o"),
    ("#1f77b4", "--", "s"),
    ("#b03060", ":", "D"),
    ("#2e7d32", "-.", "^"),
    ("#8a5a00", (0, (5, 1, 1, 1, 1, 1)), "v"),
)
_Series = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def learning_curve(run: Run) -> str:
    """The learning curve as inline SVG; "" when nothing was evaluated yet."""
    from esagent.report.curve import draw

    return inline(draw(run.history), "curve") if run.history.evaluations else ""


def module_figure(run: Run) -> str:
    """Signals, credit, directions and step length per module over steps, as inline SVG; "" before the first step."""
    from matplotlib.figure import Figure

    rows = run.history.rows
    if not rows:
        return ""
    panels: Sequence[tuple[str, _Series]] = (
        ("share of its work that was right (members)", lambda row: row.get("signals") or {}),
        ("credit after the step", lambda row: row.get("credit") or {}),
        ("directions", lambda row: row.get("directions") or {}),
        ("step length, in units of the block's scale", lambda row: row.get("moved") or {}),
    )
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    names = in_order(run, dict.fromkeys(name for _, of in panels for row in rows for name in of(row)))
    grid = figure.subplots(2, 2, sharex=True)
    for axes, (title, of) in zip(grid.flat, panels, strict=True):
        _panel(axes, title, names, [(int(row["step"]), of(row)) for row in rows])
    for axes in grid[1]:
        axes.set_xlabel("step", fontsize=9)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)), frameon=False, fontsize=9)
    return inline(figure, "modules")


def inline(figure: Figure, salt: str) -> str:
    """`figure` as an <svg> element for an HTML page; `salt` keeps its ids apart from those of other figures."""
    import matplotlib

    target = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None})
    text = target.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    text = re.sub(r'id="([\w.]+)"', rf'id="{salt}-\1"', text)
    text = re.sub(r"(href=\"#|url\(#)([\w.]+)", rf"\1{salt}-\2", text)
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: _THEME.get(match[0], match[0]), text)


def _panel(axes: Axes, title: str, names: Sequence[str], points: Sequence[tuple[int, Mapping[str, Any]]]) -> None:
    from matplotlib.ticker import MaxNLocator

    for i, name in enumerate(names):
        colour, dash, marker = _LOOKS[i % len(_LOOKS)]
        known = [(step, float(values[name])) for step, values in points if values.get(name) is not None]
        axes.plot(
            [step for step, _ in known],
            [value for _, value in known],
            color=colour,
            linestyle=dash,
            marker=marker,
            markersize=4,
            markerfacecolor="white" if i else colour,
            linewidth=1.4,
            label=name,
        )
    axes.set_title(title, fontsize=9.5, loc="left")
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
