"""Which parameters each token of a batch runs under: slots, and the hooks that add their terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from esagent.backends.hf.jobs import SlotKey
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.population import Perturbation
from esagent.spaces.base import Space, Term
from esagent.spaces.tensors import Setting

BASE = "base"
CENTRE = "centre"
NEUTRAL = 0
"""Slot of the base model itself, in every call."""


class Slots:
    """The distinct parameters that the requests of one call run under, in order of appearance.

    A member that leaves a module alone uses the centre's slot, so that all such members share its requests; so do all
    modules where parameters belong to none of them.
    """

    def __init__(self, space: Space, members: Sequence[Perturbation]) -> None:
        self._parameters = space.parameters
        self._members = members
        self._index: dict[SlotKey, int] = {}
        self._owners = {tensor.owner for tensor in space.parameters.tensors}
        self.settings: list[Setting | None] = [None]
        self.keys: list[SlotKey] = [("", BASE)]

    def of(self, request: Request) -> int:
        """Index of the request's slot."""
        perturbation = None if request.member == UNPERTURBED else self._members[request.member]
        found = self._parameters.effective(request.module, perturbation)
        owner = request.module if self._owners != {""} else ""
        key: SlotKey = (owner, CENTRE)
        if found is not None:
            key = (owner, found.seed, found.sign, found.partition, tuple(found.sigma.items()))
        if key not in self._index:
            self._index[key] = len(self.settings)
            self.settings.append(Setting(request.module, found))
            self.keys.append(key)
        return self._index[key]


def is_centre(slot_key: SlotKey) -> bool:
    """Whether a slot key stands for the unperturbed parameters of its module."""
    return slot_key[1] == CENTRE


class Hooks:
    """Adds the active slots' terms to the outputs of the searched layers.

    embeds: the embedding is one of them, so that no two slots share the states of a token.
    """

    def __init__(self, sites: Mapping[str, nn.Module]) -> None:
        self.embeds = any(isinstance(module, nn.Embedding) for module in sites.values())
        self._terms: Mapping[str, Term] = {}
        self._slot: Tensor | None = None
        for path, module in sites.items():
            module.register_forward_hook(self._hook(path))

    def _hook(self, path: str) -> Any:
        def add(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            if self._slot is None or path not in self._terms:
                return output
            given = inputs[0]  # states, or the ids of tokens
            flat = given.reshape(-1, *given.shape[-1:]) if given.is_floating_point() else given.reshape(-1)
            heads = len(flat) // len(self._slot)  # norms of queries and keys see each token once per head
            slot = self._slot if heads == 1 else self._slot.repeat_interleave(heads)
            return output + self._terms[path](flat, slot).view(output.shape)

        return add

    def use(self, terms: Mapping[str, Term]) -> None:
        """Terms of the slots of the call in progress; a layer without one computes what the base model does."""
        self._terms = terms

    @contextmanager
    def tokens(self, slot: Tensor | None) -> Iterator[None]:
        """Within: token t of the batch runs under slot[t]. slot: [T]; None: all under the base model."""
        self._slot = slot
        try:
            yield
        finally:
            self._slot = None
