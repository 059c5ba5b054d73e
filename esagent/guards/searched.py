"""Searched numbers that cannot be what is meant: tensors without numbers or scale, and one tensor searched twice.

Packed or quantised layers leave an empty or constant weight behind; a tied tensor under two names is perturbed twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from esagent.guards.finding import Finding
from esagent.guards.subject import Subject
from esagent.spaces.parameters import Parameters
from esagent.spaces.weights import Weights

NAME = "searched"


def searched(subject: Subject) -> Iterator[Finding]:
    """figure: tensors that are wrong."""
    parameters = subject.parameters
    if parameters is None or not subject.searches:
        return
    empty = [tensor.name for tensor in parameters.tensors if tensor.size == 0]
    flat = [tensor.name for tensor in parameters.tensors if tensor.size and not tensor.scale > 0]
    twice = _twice(parameters)
    for names, cause, remedy in (
        (empty, "hold no numbers", "search layers whose weights are whole (space.exclude leaves out the packed ones)"),
        (flat, "have no scale, so no perturbation reaches them", "leave them out (space.sites, space.exclude)"),
        (twice, "are searched twice under two names", "search a tied tensor under one of its names"),
    ):
        if names:
            yield Finding(NAME, "fault", f"{_listed(names)} {cause}", remedy, float(len(names)))
    if not (empty or flat or twice):
        yield Finding(NAME, "ok", f"{len(parameters.tensors)} tensors, each with numbers and a scale of its own", "", 0)


def _twice(parameters: Parameters) -> list[str]:
    """Names that occur again, and those of tensors that stand where another one does."""
    names = [tensor.name for tensor in parameters.tensors]
    again = [name for name, count in Counter(names).items() if count > 1]
    if isinstance(parameters, Weights):
        places = [parameters.standing(tensor).data_ptr() for tensor in parameters.tensors]
        again += [name for n, name in enumerate(names) if places[n] in places[:n] and name not in again]
    return again


def _listed(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
