"""A preregistered study judged by one number per arm and training seed: every hypothesis holds, fails or is undecided.

Within a family the p-values of the claims are corrected by Holm, and so are those of their opposites:

    holds       the corrected p of the claim is at most alpha
    fails       that of its opposite is
    undecided   neither; or seeds that were declared are missing, for runs that are not there may be those that failed

Seeds that an exclusion rule of the study takes out are no missing ones: their pairs are left out, and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from esagent.config.study import Hypothesis, Study
from esagent.stats.claims import Evidence, every, smallest_claim_p, weigh
from esagent.stats.holm import holm
from esagent.stats.inversion import Limits, sign_flip_interval
from esagent.stats.regression import SeedSlopes, seed_slopes
from esagent.stats.student import t_interval

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"

Values = Mapping[str, Mapping[str, Mapping[int, float]]]
"""{metric: {arm: {seed: value}}}"""
Excluded = Mapping[str, Mapping[int, str]]
"""{arm: {seed: why}}"""


@dataclass(frozen=True)
class Contrast:
    """arm - against over the seeds that both have; interval of confidence 1 - 2 alpha: its limits are one-sided bounds.

    evidence: for the claim, not corrected.
    """

    arm: str
    differences: Mapping[int, float]
    mean: float
    interval: Limits
    evidence: Evidence


@dataclass(frozen=True)
class Verdict:
    """n: the fewest pairs of its contrasts. p and opposite: before Holm; p_adjusted, opposite_adjusted: after.

    line: of a linear claim, losses against x. missing: (arm, seed) declared and not there. excluded: in words.
    """

    hypothesis: Hypothesis
    verdict: str
    why: str
    n: int
    p: float
    opposite: float
    p_adjusted: float
    opposite_adjusted: float
    contrasts: tuple[Contrast, ...]
    line: SeedSlopes | None
    missing: tuple[tuple[str, int], ...]
    excluded: tuple[str, ...]


@dataclass(frozen=True)
class _Weighed:
    evidence: Evidence
    contrasts: tuple[Contrast, ...]
    line: SeedSlopes | None
    missing: tuple[tuple[str, int], ...]
    excluded: tuple[str, ...]


def judge(study: Study, values: Values, excluded: Excluded | None = None) -> tuple[Verdict, ...]:
    """One verdict per hypothesis, in the order of the study.

    values: for every metric that the hypotheses name. excluded: what the study's rules took out of them.
    """
    weighed = {h.id: _weigh(study, h, values.get(h.metric, {}), excluded or {}) for h in study.hypotheses}
    adjusted: dict[str, float] = {}
    opposite: dict[str, float] = {}
    for family in study.families.values():
        adjusted |= holm({h.id: weighed[h.id].evidence.p for h in family})
        opposite |= holm({h.id: weighed[h.id].evidence.opposite for h in family})
    return tuple(_verdict(study, h, weighed[h.id], adjusted[h.id], opposite[h.id]) for h in study.hypotheses)


def _weigh(study: Study, h: Hypothesis, values: Mapping[str, Mapping[int, float]], out: Excluded) -> _Weighed:
    involved = list(dict.fromkeys((h.against, *h.arms)))
    gone = {(arm, seed): why for arm in involved for seed, why in out.get(arm, {}).items() if seed in study.seeds}
    missing = tuple(
        (arm, seed)
        for arm in involved
        for seed in study.seeds
        if seed not in values.get(arm, {}) and (arm, seed) not in gone
    )
    excluded = tuple(f"{arm}, seed {seed}: {why}" for (arm, seed), why in gone.items())
    shared = [seed for seed in study.seeds if all(seed in values.get(arm, {}) for arm in involved)]
    if h.claim == "linear":
        return _line(study, h, values, shared, missing, excluded)
    contrasts = []
    for arm in h.arms:
        pairs = [s for s in study.seeds if s in values.get(arm, {}) and s in values.get(h.against, {})]
        if pairs:
            d = {seed: values[arm][seed] - values[h.against][seed] for seed in pairs}
            contrasts.append(_contrast(study, h, arm, d))
    whole = len(contrasts) == len(h.arms)
    evidence = every([c.evidence for c in contrasts]) if whole else Evidence(1.0, 1.0)
    return _Weighed(evidence, tuple(contrasts), None, missing, excluded)


def _contrast(study: Study, h: Hypothesis, arm: str, d: Mapping[int, float]) -> Contrast:
    listed = list(d.values())
    interval = (t_interval if study.test == "t" else sign_flip_interval)(listed, 1.0 - 2.0 * study.alpha)
    return Contrast(arm, d, float(np.mean(listed)), interval, weigh(h.claim, listed, h.margin, study.test))


def _line(
    study: Study,
    h: Hypothesis,
    values: Mapping[str, Mapping[int, float]],
    seeds: list[int],
    missing: tuple[tuple[str, int], ...],
    excluded: tuple[str, ...],
) -> _Weighed:
    """The slope of every seed's losses against x, tested for being above 0."""
    if not seeds:
        return _Weighed(Evidence(1.0, 1.0), (), None, missing, excluded)
    losses = [[values[h.against][seed] - values[arm][seed] for seed in seeds] for arm in h.arms]
    line = seed_slopes([h.x[arm] for arm in h.arms], losses, 1.0 - 2.0 * study.alpha)
    return _Weighed(weigh("better", line.slopes, 0.0, study.test), (), line, missing, excluded)


def _verdict(study: Study, h: Hypothesis, found: _Weighed, p: float, opposite: float) -> Verdict:
    n = min((len(c.differences) for c in found.contrasts), default=found.line.test.n if found.line else 0)
    verdict, why = _decide(study, h, found, n, p, opposite)
    return Verdict(
        h,
        verdict,
        why,
        n,
        found.evidence.p,
        found.evidence.opposite,
        p,
        opposite,
        found.contrasts,
        found.line,
        found.missing,
        found.excluded,
    )


def _decide(study: Study, h: Hypothesis, found: _Weighed, n: int, p: float, opposite: float) -> tuple[str, str]:
    size = len(study.families[h.family])
    holm_text = f" (Holm over {size})" if size > 1 else ""
    if found.missing:
        arm, seed = found.missing[0]
        more = f" and {len(found.missing) - 1} more" if len(found.missing) > 1 else ""
        return UNDECIDED, f"incomplete: {arm}, seed {seed} is missing{more}"
    if n == 0:
        return UNDECIDED, "no pair is left"
    if p <= study.alpha:
        if found.line is not None and not found.line.fit.r_squared >= h.r_squared:
            return FAILS, f"rises, p = {p:.3g}{holm_text}, but R^2 = {found.line.fit.r_squared:.3f} < {h.r_squared:g}"
        return HOLDS, f"p = {p:.3g} <= {study.alpha:g}{holm_text}"
    if opposite <= study.alpha:
        return FAILS, f"the opposite is shown: p = {opposite:.3g} <= {study.alpha:g}{holm_text}"
    smallest = smallest_claim_p(h.claim, n)
    if study.test == "sign_flip" and smallest * size > study.alpha:
        return (
            UNDECIDED,
            f"{n} pairs can give p >= {smallest:.3g} only, and Holm over {size} may ask for {study.alpha / size:.3g}",
        )
    return UNDECIDED, f"p = {p:.3g}, of the opposite {opposite:.3g}{holm_text}"


def mean_difference(verdict: Verdict) -> float:
    """The estimate that decides: the mean difference with the largest p, or the slope of a linear claim."""
    if verdict.line is not None:
        return verdict.line.test.mean
    return max(verdict.contrasts, key=lambda c: c.evidence.p).mean if verdict.contrasts else float("nan")
