"""An update that is lost to rounding: the run spends its budget and the weights stay where they are.

Adding small steps to bfloat16 numbers moves a third of them not at all, and turns what is left of the update by fifty
degrees. An fp32 master keeps all of it, however little shows in the model; stochastic rounding keeps it on average,
unless a step is below 2^-16 of the gap between numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from esagent.assemble import Parts
from esagent.config.limits import known_steps
from esagent.config.schema import Config, Control, Normalise
from esagent.guards.finding import Finding
from esagent.guards.resolution import sample
from esagent.guards.subject import Subject, parameters_of
from esagent.spaces.weights import Weights

NAME = "rounding"
LOST, SOME = 0.5, 0.05
"""Shares of numbers that no step can move, for a fault and a note."""
TURNED, BENT = 0.8, 0.95
"""Cosines of the applied update with the intended one, for a fault and a note."""

_NUMBERS = 1 << 13
_CARRY = 2.0**-16


def rounding(subject: Subject) -> Iterator[Finding]:
    """Before a run. figure: share of the searched numbers that even a step of full length, on average, cannot move.

    The length of a step is that of an estimate whose shaped rewards are of size 1, which raw ones hardly reach.
    """
    parameters, config = subject.parameters, subject.config
    if parameters is None or not subject.members or config.algorithm.control is Control.frozen:
        return
    lengths = _lengths(subject)
    stuck = total = 0
    for tensor in sample(parameters.tensors):
        centre = parameters.centre[tensor.name][:_NUMBERS]
        step = tensor.scale * max(lengths.values())
        stuck += int(_unmoved(centre, step).sum())
        total += len(centre)
    share = stuck / max(1, total)
    if share > SOME:
        yield Finding(
            NAME,
            "fault" if share > LOST else "note",
            f"a step of RMS length {max(lengths.values()):.2g} is below the resolution of {share:.0%} of the searched "
            "numbers, as they are kept",
            "raise algorithm.step.start, or keep the numbers in a finer format (space.precision=master)",
            share,
        )
    else:
        yield Finding(NAME, "ok", f"a step moves {1 - share:.0%} of the searched numbers as they are kept", "", share)


def swallowed(config: Config, parts: Parts, record: Mapping[str, Any], before: str) -> Iterator[Finding]:
    """During a run, from the journal's record of a step and the digest before it. figure: the cosine of the update.

    With a master beside the model a coarse model says nothing: what does not show yet is kept.
    """
    sizes, terms = record["update"]["step_size"], record["update"]["terms"]
    if not terms or not any(sizes.values()):
        return
    step, cosine = int(record["step"]), record["cosine"]
    turned = cosine is not None and cosine == cosine and cosine < BENT and _as_kept(config, parts)
    if record["digest"] == before:
        yield Finding(NAME, "fault", "the update moved nothing: all of it was lost to rounding", _REMEDY, 0.0, step)
    elif turned:
        yield Finding(
            NAME,
            "fault" if cosine < TURNED else "note",
            f"what was applied of the update has a cosine of {cosine:.2f} with what was meant, and "
            f"{record['unmoved']:.0%} of the numbers did not move",
            _REMEDY,
            float(cosine),
            step,
        )


_REMEDY = "keep an fp32 master (space.precision=master), round stochastically, or raise algorithm.step.start"


def _as_kept(config: Config, parts: Parts) -> bool:
    """Whether the cosine speaks of the numbers as they are kept, and rounding is not right on average."""
    parameters = parameters_of(parts.backend)
    if not isinstance(parameters, Weights):
        return True
    finer = any(
        parameters.centre[tensor.name].element_size() > parameters.standing(tensor).element_size()
        for tensor in parameters.tensors
    )
    return not finer and config.space.precision != "stochastic"


def _lengths(subject: Subject) -> dict[str, float]:
    """RMS length of the longest step that the schedules know, by block."""
    algorithm, steps = subject.config.algorithm, known_steps(subject.config) or 1
    found: dict[str, float] = {}
    for step in (0, steps // 2, steps - 1):
        sigma, sizes = subject.parts.scales.at(step, steps)
        for name, size in sizes.items():
            length = size
            if algorithm.normalise is Normalise.none:
                length /= algorithm.directions**0.5 * (sigma[name] or 1.0 if algorithm.divide_by_sigma else 1.0)
            found[name] = max(found.get(name, 0.0), length)
    return found


def _unmoved(centre: Tensor, step: float) -> Tensor:
    """Which numbers a step of this size leaves where they are: to nearest in fp32, by keyed rounding in bfloat16."""
    if centre.dtype == torch.bfloat16:
        return step < _CARRY * (torch.nextafter(centre.abs(), centre.new_tensor(float("inf"))) - centre.abs()).float()
    return (centre.double() + step).float() == centre
