"""What a study found, hypothesis by hypothesis, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from esagent.report.verdicts import claim_text
from esagent.stats.inversion import Limits
from esagent.stats.verdicts import Contrast, Verdict, mean_difference


def estimate(verdict: Verdict) -> tuple[float, Limits, float]:
    """(estimate, its interval, p before Holm) that the verdict hangs on: the contrast hardest to show, or the slope."""
    if verdict.line is not None:
        return mean_difference(verdict), verdict.line.interval, verdict.p
    hardest = max(verdict.contrasts, key=lambda contrast: contrast.evidence.p)
    return hardest.mean, hardest.interval, verdict.p


def told(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Lines for people, one block per hypothesis."""
    for verdict in verdicts:
        h = verdict.hypothesis
        yield f"{verdict.verdict.upper():<9}  {h.id}  [{h.family}]"
        yield f"           {claim_text(verdict)}"
        if verdict.line is not None:
            line = verdict.line
            yield (
                f"           slope {line.test.mean:+.4f} {limits(line.interval)}, R^2 = {line.fit.r_squared:.3f}, "
                f"n = {verdict.n}"
            )
        for contrast in verdict.contrasts:
            yield f"           {_contrast(contrast, named=len(verdict.contrasts) > 1)}, n = {verdict.n}"
        yield f"           p = {verdict.p:.2g}, of the opposite {verdict.opposite:.2g}; {verdict.why}"


def limits(interval: Limits) -> str:
    """[-0.0123, +0.0045]"""
    return f"[{interval.low:+.4f}, {interval.high:+.4f}]"


def _contrast(contrast: Contrast, *, named: bool) -> str:
    name = f"{contrast.arm}: " if named else ""
    return f"{name}{contrast.mean:+.4f} {limits(contrast.interval)}"
