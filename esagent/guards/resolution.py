"""A perturbation below the resolution of the number format that the model computes with.

What a member adds to a number w is rounded to a multiple of the gap between numbers around w: |w| 2^-8 in bfloat16,
|w| 2^-24 in float32. Far below half of it nothing is added, or a random part under stochastic rounding. Compared are
what members really add and what the update takes them to have added:

    cos(round(w + sigma eps) - round(w), sigma eps)       1 where nothing is lost
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from esagent.config.limits import known_steps
from esagent.core.population import Perturbation
from esagent.guards.finding import Finding
from esagent.guards.subject import Subject
from esagent.spaces.fidelity import Fidelity
from esagent.spaces.parameters import Parameters
from esagent.spaces.tensors import SearchTensor
from esagent.spaces.weights import Weights

NAME = "resolution"
LITTLE, LESS = 0.7, 0.95
"""Cosines below which a perturbation is a fault, and a note."""

_TENSORS = 6
_NUMBERS = 1 << 13


def resolution(subject: Subject) -> Iterator[Finding]:
    """figure: the cosine at the smallest sigma of the schedule, over some numbers of some tensors."""
    parameters = subject.parameters
    if parameters is None or not subject.members:
        return
    rounded = Fidelity()
    for member in subject.members:
        for tensor in sample(parameters.tensors):
            for intended, added in _added(parameters, tensor, _smallest(subject, member), subject):
                rounded.add(intended, added)
    cosine = rounded.cosine
    if cosine != cosine:  # no sampled tensor is perturbed, or all that is added is lost
        if not rounded.unmoved:
            return
        cosine = 0.0
    stochastic = any(centre.dtype == torch.bfloat16 for centre in parameters.centre.values())
    if cosine < LESS and not (stochastic and cosine >= LITTLE):
        yield Finding(
            NAME,
            "fault" if cosine < LITTLE and not stochastic else "note",
            f"at the smallest sigma {rounded.unmoved:.0%} of the searched numbers are the same in a member as in the "
            f"centre, and what is added has a cosine of {cosine:.2f} with what the update takes it for",
            "raise sigma.start and sigma.end, or choose model.dtype=float32",
            cosine,
        )
    else:
        yield Finding(NAME, "ok", f"what members add has a cosine of {cosine:.3f} with what is meant", "", cosine)


def sample(tensors: Sequence[SearchTensor]) -> list[SearchTensor]:
    """A few of them, spread evenly."""
    every = max(1, len(tensors) // _TENSORS)
    return list(tensors[::every][:_TENSORS])


def _smallest(subject: Subject, member: Perturbation) -> Perturbation:
    """The member at the smallest sigma that a step of the run has."""
    steps = known_steps(subject.config) or 1
    scales = subject.parts.scales
    first, _ = scales.at(0, steps)
    last, _ = scales.at(steps - 1, steps)
    shares = [last[name] / first[name] for name in first if first[name] > 0 and last[name] > 0]
    share = min([1.0, *shares])
    return replace(member, sigma={name: share * value for name, value in member.sigma.items()})


def _added(
    parameters: Parameters, tensor: SearchTensor, member: Perturbation, subject: Subject
) -> Iterator[tuple[Tensor, Tensor]]:
    """(meant, really added) of the first numbers of a tensor, fp64; nothing where the member leaves them alone."""
    start, moved = next(parameters.ranges(tensor, member))
    form = parameters.standing(tensor).dtype if isinstance(parameters, Weights) else _dtype(subject)
    centre = parameters.centre[tensor.name][start : start + len(moved)][:_NUMBERS]
    meant = parameters.meant(tensor, member, start, len(moved))[:_NUMBERS]
    if meant.any():
        yield meant, moved[:_NUMBERS].to(form).double() - centre.to(form).double()


def _dtype(subject: Subject) -> torch.dtype:
    found = getattr(torch, subject.parts.facts.dtype, torch.float32)
    return found if isinstance(found, torch.dtype) else torch.float32
