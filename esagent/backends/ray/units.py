"""Which requests stay together on one worker.

    by member   all requests under one set of parameters: a worker makes few members, and its caches and adapters are
                theirs. Requests that members share, because a perturbation does not reach the module that is asked, are
                asked of one worker once.
    by prompt   all members' requests of one prompt: for spaces that leave prompts to the base model, where what members
                share of a prompt is worth more than the little that a member is.

The unperturbed agent's requests are always by prompt.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from esagent.backends.ray.balance import Expectation, Unit
from esagent.backends.ray.wire import form_key, perturbation_key
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.population import Perturbation

Split = Literal["members", "prompts"]


def parameters_of(
    requests: Sequence[Request], members: Sequence[Perturbation], reach: Mapping[str, frozenset[str]] | None
) -> list[Hashable]:
    """For each request a name of the parameters it is answered under; None are those of the centre.

    reach: by module the blocks that act in it; None where that is not known.
    """
    known: dict[tuple[str, int], Hashable] = {}
    for request in requests:
        place = request.module, request.member
        if place not in known:
            known[place] = None if request.member == UNPERTURBED else _reaching(members[request.member], request, reach)
    return [known[request.module, request.member] for request in requests]


def _reaching(perturbation: Perturbation, request: Request, reach: Mapping[str, frozenset[str]] | None) -> Hashable:
    near = None if reach is None else reach.get(request.module)
    sigma = {b: s for b, s in perturbation.sigma.items() if s != 0.0 and (near is None or b in near)}
    return perturbation_key(replace(perturbation, sigma=sigma)) if sigma else None


def twins(requests: Sequence[Request], parameters: Sequence[Hashable]) -> list[int]:
    """For each request the number of the first that is the same: parameters, prompt and decoding."""
    first: dict[Hashable, int] = {}
    return [
        first.setdefault((parameters[n], form_key(r), r.prompt, r.messages, r.seed if r.temperature else 0), n)
        for n, r in enumerate(requests)
    ]


def make_units(
    requests: Sequence[Request],
    parameters: Sequence[Hashable],
    numbers: Sequence[int],
    split: Split,
    expected: Expectation,
) -> list[Unit]:
    """Units of the requests with these numbers."""
    groups: dict[Hashable, list[int]] = {}
    for number in numbers:
        request = requests[number]
        alone = split == "prompts" or parameters[number] is None
        key = ("prompt", request.module, request.prompt, request.messages) if alone else parameters[number]
        groups.setdefault(key, []).append(number)
    return [
        Unit(key, tuple(group), sum(expected.cost(requests[number]) for number in group))
        for key, group in groups.items()
    ]
