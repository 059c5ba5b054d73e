"""Members that leave a trace: after them the centre is not what it was, bit for bit, and drifts as a run goes on.

Restoring by subtraction does that: in bfloat16, thirty cycles change half of all weights by as much as an update does.
Here everything is restored from a copy; a backend or space of one's own may do otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from esagent.backends.base import Backend
from esagent.guards.finding import Finding
from esagent.guards.subject import Subject, parameters_of
from esagent.spaces.weights import Weights

NAME = "restore"
_REMEDY = "restore members from a copy of the centre, never by subtracting what was added"


def restore(subject: Subject) -> Iterator[Finding]:
    """figure: share of the likelihoods under the centre that members changed, or of its numbers in the model."""
    probed = subject.probed
    if not probed.tried:
        return
    changed = float(np.mean(probed.before != probed.after)) if len(probed.before) else 0.0
    astray = strayed(subject.parts.backend)
    if probed.digests[0] != probed.digests[1] or changed or astray:
        yield drifted(None, max(changed, astray))
    else:
        yield Finding(NAME, "ok", "after its members the centre is what it was, bit for bit", "", 0.0)


def still(backend: Backend, digest: str, step: int) -> Iterator[Finding]:
    """During a run, before the update of `step`: whether the centre still is the state with this digest."""
    astray = strayed(backend)
    if backend.digest() != digest or astray:
        yield drifted(step, astray)


def strayed(backend: Backend) -> float:
    """Share of the searched numbers in the model that are not the centre's; 0 where members are not written there."""
    parameters = parameters_of(backend)
    if not isinstance(parameters, Weights):
        return 0.0
    parameters.show()
    wrong = total = 0
    for tensor in parameters.tensors:
        there, centre = parameters.standing(tensor), parameters.centre[tensor.name]
        total += tensor.size
        if not torch.equal(there, centre.to(there.dtype)):
            wrong += int((there != centre.to(there.dtype)).sum())
    return wrong / max(1, total)


def drifted(step: int | None, share: float = 0.0) -> Finding:
    """The fault. share: of what was compared, as far as it was compared number by number."""
    extent = f" ({share:.1%} of what was compared)" if share else ""
    return Finding(NAME, "fault", f"after its members the centre is not what it was{extent}", _REMEDY, share, step)
