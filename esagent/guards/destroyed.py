"""A sigma so large that members are no language model any more: their rewards say nothing about the agent nearby.

Measured as the likelihood that a member loses on answers that make sense to the centre, gold ones where there are any.
A token drawn blindly from 50,000 costs 10.8 nats; members that keep most of their answers lose a few tenths.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from esagent.guards.finding import Finding
from esagent.guards.subject import Subject

NAME = "destroyed"
LOST, MUCH = 3.0, 2.0
"""Nats per token that make a fault, and a note."""


def destroyed(subject: Subject) -> Iterator[Finding]:
    """figure: what members lose on average, in nats per token; infinite where one has logits that are not finite."""
    probed = subject.probed
    if not np.isfinite(probed.before).all():
        yield Finding(
            NAME,
            "fault",
            "the model's logits are not finite before anything was perturbed",
            "choose model.dtype=float32, or look at what the run starts from",
            float("inf"),
        )
        return
    lost = [float((probed.among[list(t.asked)] - t.scores).mean()) for t in probed.tried if t.asked]
    if not lost:
        return
    mean = float(np.mean(lost)) if np.isfinite(lost).all() else float("inf")
    if mean > MUCH:
        what = f"lose {mean:.1f} nats per token" if np.isfinite(mean) else "have logits that are not finite"
        yield Finding(
            NAME,
            "fault" if mean > LOST else "note",
            f"perturbed members {what} on answers that make sense to the agent: sigma destroys its outputs",
            "lower sigma.start (0.001 for whole weights), or let sigma=auto find a scale",
            mean,
        )
    else:
        yield Finding(NAME, "ok", f"members lose {max(mean, 0.0):.2g} nats per token on average", "", mean)
