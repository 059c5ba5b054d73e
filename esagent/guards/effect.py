"""A perturbation that changes nothing: the run would compare members that are all the same agent.

Seen as likelihoods of answers that do not move, or by no more than they move with the batch anyway. So look a LoRA
whose A moves beside a B = 0, weights that a backend computes with a copy of, a module that is never asked, and a sigma
that the precision of the model swallows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from esagent.guards.finding import Finding
from esagent.guards.subject import Subject

NAME = "effect"
_REMEDY = (
    "raise sigma.start, search what the answers are computed from (space=..., space.include, space.modules), or let "
    "sigma=auto find a scale"
)


def calibrated(found: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """With sigma=auto, of each block what the calibration chose. figure: the smallest share of answers that change."""
    shares = {choice["name"]: choice["changed"] for choice in found if choice["changed"] is not None}
    without = [name for name, share in shares.items() if not share]
    if without:
        yield Finding(NAME, "fault", f"no sigma changes a single answer through {', '.join(without)}", _REMEDY, 0.0)


def effect(subject: Subject) -> Iterator[Finding]:
    """figure: the change of the likelihood of an answer by the least effective member, in nats per token."""
    probed = subject.probed
    if not probed.tried or not probed.questions:
        return
    changes = {}
    for tried in probed.tried:
        blocks = ", ".join(sorted(tried.member.sigma))
        if tried.asked:
            changes[blocks] = probed.change(tried)
        else:
            yield Finding(
                NAME,
                "note",
                f"the agent asked nothing of {blocks} on the tasks that were tried, so what a perturbation does to it "
                "was not seen",
                "leave modules that are never asked out of space.modules",
            )
    if not changes:
        return
    least = min(changes.values())
    without = [blocks for blocks, change in changes.items() if change == 0.0 or change <= 2.0 * probed.noise]
    if without:
        dead = [blocks for blocks in without if changes[blocks] == 0.0]
        all_of_them = len(without) == len(changes)
        yield Finding(
            NAME,
            "fault" if dead or all_of_them else "note",
            f"perturbing {'; '.join(without)} changes no answer's likelihood by more than {least:.2g} nats per token, "
            f"which the batch alone changes by {probed.noise:.2g}",
            _REMEDY,
            least,
        )
    else:
        yield Finding(
            NAME, "ok", f"every perturbation tried changes a likelihood by {least:.2g} nats/token or more", "", least
        )
