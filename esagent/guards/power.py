"""Too few seeds or tasks for what is claimed: the outcome would be chance, whatever it is.

Seeds: the smallest p-value that n of them can give must reach alpha, and the strictest step of Holm in their family.
Tasks: the mean of paired differences over n tasks has a 95% interval of half-width 1.96 s / sqrt(n), and shows a
difference of (1.96 + 0.84) s / sqrt(n) with a chance of 80%. s = 0.5 is assumed for rewards in [0, 1]: that of tasks of
which a quarter change from wrong to right or back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from esagent.config.schema import Select
from esagent.config.study import Study, load_study
from esagent.guards.finding import Finding
from esagent.guards.subject import Subject
from esagent.stats.claims import smallest_claim_p
from esagent.stats.power import pairs_needed

NAME = "power"
SPREAD = 0.5
HALF_WIDTH, SHOWN = 1.96, 1.96 + 0.84
COARSE = 0.4
"""Difference above which a set of tasks that claims nothing in particular is told to show little."""


def power(subject: Subject) -> Iterator[Finding]:
    """figure: of seeds the p-value that can be reached; of tasks the difference that they can show."""
    config = subject.config
    study = load_study(config.study) if config.study else None
    if study:
        yield from _seeds(study)
        yield from _margins(study, config.task.heldout)
    if not subject.searches:
        return
    sizes = {"heldout": config.task.heldout}
    if config.budget.select is Select.validation:
        sizes["validation"] = config.task.validation
    for split, n in sizes.items():
        shown = smallest_shown(n)
        if n and shown > COARSE:
            yield Finding(
                NAME,
                "note",
                f"{n} tasks of {split} show a difference of {shown:.2f} or more alone (80% of the time)",
                f"raise task.{split}, to {tasks_for(0.1)} for a difference of 0.1",
                shown,
            )
        elif n:
            yield Finding(NAME, "ok", f"{n} tasks of {split} show a difference of {shown:.2f}", "", shown)


def smallest_shown(tasks: int) -> float:
    """The difference of means that so many paired tasks show with a chance of 80%; infinite for none."""
    return SHOWN * SPREAD / math.sqrt(tasks) if tasks else math.inf


def tasks_for(difference: float) -> int:
    """How many paired tasks show it with a chance of 80%."""
    return math.ceil((SHOWN * SPREAD / difference) ** 2)


def _seeds(study: Study) -> Iterator[Finding]:
    if study.test != "sign_flip":
        return
    n = len(study.seeds)
    for family, hypotheses in study.families.items():
        level = study.alpha / len(hypotheses)
        for hypothesis in hypotheses:
            p = smallest_claim_p(hypothesis.claim, n)
            if p > level:
                needed = pairs_needed(study.alpha, len(hypotheses), two_sided=hypothesis.claim == "different")
                yield Finding(
                    NAME,
                    "fault" if p > study.alpha else "note",
                    f"{n} seeds give p >= {p:.3g}, and Holm over the {len(hypotheses)} hypotheses of family {family} "
                    f"may ask {hypothesis.id} for {level:.3g}",
                    f"declare {needed} seeds, or fewer hypotheses in a family",
                    p,
                )


def _margins(study: Study, heldout: int) -> Iterator[Finding]:
    margins = [h.margin for h in study.hypotheses if h.metric == "heldout" and h.margin > 0]
    if not margins:
        return
    width = HALF_WIDTH * SPREAD / math.sqrt(heldout) if heldout else math.inf
    if width > min(margins):
        needed = math.ceil((HALF_WIDTH * SPREAD / min(margins)) ** 2)
        yield Finding(
            NAME,
            "fault",
            f"{heldout} held-out tasks give a mean to within {width:.2f}, and a margin of {min(margins):g} is claimed",
            f"set task.heldout={needed}, or claim no more than the tasks can show",
            width,
        )
