"""The verdicts of a preregistered study: tables for people, one object for machines."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TextIO

from rich.table import Table
from rich.text import Text

from esagent.report.folding import folding_console
from esagent.report.stats import interval_text
from esagent.report.text import number
from esagent.stats.preregistered import Assessment
from esagent.stats.verdicts import Verdict


def print_assessment(found: Assessment, stream: TextIO | None = None) -> None:
    """Whether it is what was preregistered, one verdict per hypothesis, and the estimates they rest on."""
    console = folding_console(stream or sys.stdout)
    for line in _standing(found):
        console.print(Text(line))
    console.print(_verdicts(found))
    console.print(_contrasts(found))
    for line in _lines(found):
        console.print(Text(line))


def claim_text(verdict: Verdict) -> str:
    """`no_better by 0.02 than uniform: soft, argmax`."""
    h = verdict.hypothesis
    if h.claim == "linear":
        return f"loss to {h.against} rises linearly over {len(h.x)} arms, R^2 at least {h.r_squared:g}"
    words = {"equivalent": f"equivalent to {h.against} within {h.margin:g}", "different": f"different from {h.against}"}
    by = f" by {h.margin:g}" if h.margin else ""
    claim = words.get(h.claim, f"{h.claim.replace('_', ' ')}{by} than {h.against}")
    return f"{', '.join(h.arms)}: {claim}"


def assessment_json(found: Assessment) -> dict[str, Any]:
    """Plain data; limits of an interval that rules nothing out are infinite."""
    study = found.study
    return {
        "level": "training seeds",
        "study": study.stamp,
        "preregistered": not found.doubts,
        "doubts": list(found.doubts),
        "alpha": study.alpha,
        "test": study.test,
        "seeds": list(study.seeds),
        "runs": found.counts,
        "hypotheses": [_verdict_json(verdict) for verdict in found.verdicts],
        "values": found.values,
        "notes": list(found.notes),
    }


def missing_text(verdicts: Sequence[Verdict]) -> list[str]:
    """`soft, argmax: seed 3, 5 to 19` for arms that lack the same declared seeds."""
    found: dict[str, set[int]] = {}
    for arm, seed in (pair for verdict in verdicts for pair in verdict.missing):
        found.setdefault(arm, set()).add(seed)
    arms: dict[str, list[str]] = {}
    for arm, seeds in found.items():
        arms.setdefault(ranges(seeds), []).append(arm)
    return [f"{', '.join(names)}: seed {seeds}" for seeds, names in arms.items()]


def ranges(numbers: Collection[int]) -> str:
    """`3, 5 to 19`: numbers in order, three and more that follow one another as a range."""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    parts = ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run) for run in runs)
    return ", ".join(text for part in parts for text in part)


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    h, line = verdict.hypothesis, verdict.line
    return {
        "id": h.id,
        "claim": h.claim,
        "arms": list(h.arms),
        "against": h.against,
        "metric": h.metric,
        "margin": h.margin,
        "family": h.family,
        "verdict": verdict.verdict,
        "why": verdict.why,
        "n": verdict.n,
        "p": verdict.p,
        "p_holm": verdict.p_adjusted,
        "p_opposite": verdict.opposite,
        "p_opposite_holm": verdict.opposite_adjusted,
        "contrasts": [
            {
                "arm": contrast.arm,
                "difference": contrast.mean,
                "interval": list(contrast.interval),
                "p": contrast.evidence.p,
                "differences": [{"seed": seed, "difference": d} for seed, d in contrast.differences.items()],
            }
            for contrast in verdict.contrasts
        ],
        "line": line
        and {
            "slope": line.test.mean,
            "interval": list(line.interval),
            "r_squared": line.fit.r_squared,
            "intercept": line.fit.intercept,
        },
        "missing": [{"arm": arm, "seed": seed} for arm, seed in verdict.missing],
        "excluded": list(verdict.excluded),
    }


def _standing(found: Assessment) -> Iterator[str]:
    study = found.study
    yield f"Study {study.name} ({study.path}, sha256 {study.sha256[:12]}), {len(study.seeds)} training seeds"
    if not found.doubts:
        yield "Preregistered: every run was started under this very file."
    for doubt in found.doubts:
        yield f"NOT AS PREREGISTERED: {doubt}"


def _verdicts(found: Assessment) -> Table:
    table = Table(title=Text("Hypotheses"), title_justify="left")
    for heading in ("hypothesis", "claim"):
        table.add_column(heading, overflow="fold")
    table.add_column("n", justify="right")
    table.add_column("verdict", no_wrap=True)
    table.add_column("why", overflow="fold")
    for verdict in found.verdicts:
        cells = (verdict.hypothesis.id, claim_text(verdict), str(verdict.n), verdict.verdict, verdict.why)
        table.add_row(*map(Text, cells))
    return table


def _contrasts(found: Assessment) -> Table:
    study = found.study
    title = f"Paired differences, {100 * (1 - 2 * study.alpha):g}% intervals (either limit is a one-sided bound)"
    table = Table(title=Text(title), title_justify="left")
    for heading in ("hypothesis", "arm"):
        table.add_column(heading, overflow="fold")
    for heading in ("n", "difference", "interval", "p of the claim"):
        table.add_column(heading, justify="right")
    for verdict in found.verdicts:
        for contrast in verdict.contrasts:
            numbers = (number(contrast.mean, signed=True), interval_text(*contrast.interval))
            n, p = str(len(contrast.differences)), f"{contrast.evidence.p:.3g}"
            table.add_row(*map(Text, (verdict.hypothesis.id, contrast.arm, n, *numbers, p)))
        if verdict.line is not None:
            label = f"loss per unit of x, R^2 {verdict.line.fit.r_squared:.3f}"
            numbers = (number(verdict.line.test.mean, signed=True), interval_text(*verdict.line.interval))
            cells = (verdict.hypothesis.id, label, str(verdict.n), *numbers, f"{verdict.p:.3g}")
            table.add_row(*map(Text, cells))
    return table


def _lines(found: Assessment) -> Iterator[str]:
    how = "Student's t" if found.study.test == "t" else "exact sign flips"
    sizes = ", ".join(f"{name} {len(members)}" for name, members in found.study.families.items())
    yield f"Tests by {how}; unit: training seed. Holm within each family ({sizes}), at alpha {found.study.alpha:g}."
    for text in dict.fromkeys(text for verdict in found.verdicts for text in verdict.excluded):
        yield f"excluded by rule: {text}"
    for text in missing_text(found.verdicts):
        yield f"missing: {text}"
    for note in found.notes:
        yield f"note: {note}"
