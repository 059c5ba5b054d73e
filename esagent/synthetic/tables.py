"""Tables of a study, for people (Markdown) and for programs (CSV)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from esagent.config.schema import Config
from esagent.config.study import Study
from esagent.report.verdicts import claim_text
from esagent.stats.inversion import sign_flip_interval
from esagent.stats.response import ResponseCurve
from esagent.stats.signflip import sign_flip
from esagent.stats.verdicts import Verdict
from esagent.synthetic.arms import baseline_of
from esagent.synthetic.expected import first_steps
from esagent.synthetic.findings import estimate, limits
from esagent.synthetic.many import SyntheticRun

Row = Sequence[object]
_MARKS = {"holds": "+", "fails": "-", "undecided": "?"}


def markdown(head: Row, rows: Iterable[Row]) -> str:
    """A table whose first column is text, and all others numbers."""
    lines = [_line(head), "| :--- |" + " ---: |" * (len(head) - 1), *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def write_csv(path: Path, head: Row, rows: Iterable[Row]) -> None:
    """Numbers with all their digits."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def findings_table(verdicts: Sequence[Verdict]) -> str:
    """One line per hypothesis, with the contrast that is hardest to show."""
    head = ("claim", "estimate", "90% interval", "p", "p (Holm)", "verdict")
    rows = []
    for verdict in verdicts:
        value, interval, p = estimate(verdict)
        text = claim_text(verdict)
        if verdict.line is not None:
            text += f" (R^2 = {verdict.line.fit.r_squared:.3f})"
        shown = f"{value:+.3f}", limits(interval), f"{p:.2g}", f"{verdict.p_adjusted:.2g}", f"**{verdict.verdict}**"
        rows.append((f"`{verdict.hypothesis.id}`: {text}", *shown))
    return markdown(head, rows)


ARM_HEAD = (
    *("arm", "AUC", "final", "held-out", "difference", "low", "high", "p"),
    *("starved", "signal", "path", "displacement", "wasted"),
)


def arm_rows(study: Study, runs: Mapping[str, Sequence[SyntheticRun]], block: str) -> list[Row]:
    """Per arm: means over seeds, the difference of AUC to uniform with its 95% interval, and what `block` got."""
    rows: list[Row] = []
    for label, own in runs.items():
        d = np.array([run.auc for run in own]) - [run.auc for run in runs[baseline_of(study, label)]]
        test, interval = sign_flip(d), sign_flip_interval(d)
        blocks = [run.blocks[block] for run in own]
        wasted = [sum(found["wasted"] or 0 for found in run.blocks.values()) for run in own]
        kept = ("starved", "signal", "path", "displacement")
        rows.append(
            (
                label,
                np.mean([run.auc for run in own]),
                np.mean([run.final for run in own]),
                np.mean([run.heldout[1] for run in own if run.heldout]),
                test.mean,
                interval.low,
                interval.high,
                test.p_two_sided,
                *(np.mean([found[name] for found in blocks]) for name in kept),
                np.mean(wasted),
            )
        )
    return rows


def rounded(rows: Iterable[Row], digits: int = 3) -> list[Row]:
    """The same for people."""
    return [[f"{x:.{digits}f}" if isinstance(x, float) else x for x in row] for row in rows]


def response_rows(found: Mapping[str, Mapping[str, ResponseCurve]]) -> list[Row]:
    """(setting, scheme, noise, difference, low, high, p)"""
    return [
        (setting, scheme, p.x, p.mean, p.interval.low, p.interval.high, p.test.p_two_sided)
        for setting, curves in found.items()
        for scheme, curve in curves.items()
        for p in curve.points
    ]


def response_table(found: Mapping[str, Mapping[str, ResponseCurve]], noise: Sequence[float]) -> str:
    """Differences to uniform, a star where the 95% interval leaves out 0."""
    head = ("setting, scheme", *(f"eta {eta:g}" for eta in noise))
    rows = [
        (
            f"{setting}, {scheme}",
            *(f"{p.mean:+.3f}{'*' if p.interval.low > 0 or p.interval.high < 0 else ''}" for p in curve.points),
        )
        for setting, curves in found.items()
        for scheme, curve in curves.items()
    ]
    return markdown(head, rows)


def sensitivity_table(found: Mapping[str, tuple[tuple[Verdict, ...], float]]) -> str:
    """Estimates with + (the claim holds), - (its opposite is shown) or ? (undecided)."""
    first = next(iter(found.values()))[0]
    head = ("variation", "uniform", *(verdict.hypothesis.id.replace("_", " ") for verdict in first))
    rows = [
        (variation, f"{auc:.3f}", *(f"{estimate(v)[0]:+.3f} {_MARKS[v.verdict]}" for v in verdicts))
        for variation, (verdicts, auc) in found.items()
    ]
    return markdown(head, rows)


def sensitivity_rows(found: Mapping[str, tuple[tuple[Verdict, ...], float]]) -> list[Row]:
    """(variation, AUC of uniform, hypothesis, estimate, low, high, p, verdict)"""
    rows: list[Row] = []
    for variation, (verdicts, auc) in found.items():
        for verdict in verdicts:
            value, interval, p = estimate(verdict)
            own = value, interval.low, interval.high, p, verdict.verdict
            rows.append((variation, auc, verdict.hypothesis.id, *own))
    return rows


def step_table(config: Config, block: str, counts: Sequence[int] = (1, 2, 4, 8, 16)) -> str:
    """What n directions make of the first step of `block`: progress towards the optimum, and all movement (RMS)."""
    head = ("directions", "progress", "movement", "movement on a step's tasks", "progress / movement")
    rows = []
    for n, exact, noisy in first_steps(config, block, counts):
        lengths = exact.squared**0.5, noisy.squared**0.5
        shown = exact.progress, *lengths, noisy.progress / lengths[1]
        rows.append((n, *(f"{value:.4f}" for value in shown)))
    return markdown(head, rows)


def _line(cells: Row) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
