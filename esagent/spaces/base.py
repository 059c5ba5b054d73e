"""The seams of a space: what a backend needs of any, and of one whose members differ by small per-token terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor

from esagent.spaces.parameters import Parameters
from esagent.spaces.sites import Site
from esagent.spaces.tensors import Setting

Term = Callable[[Tensor, Tensor], Tensor]
"""(input of a layer [T, in], slot of each token [T]) -> what to add to its output [T, out].

An embedding's input is the ids of tokens [T]; norms of queries and keys get a row, and its slot, for every head.
"""


class Space(Protocol):
    """Named blocks of searched numbers over a model.

    sites: the layers that terms are added to.
    lowest_layer: the first layer that anything searched touches; everything below is the same for all members.
    answers_only: the searched numbers act from the last token of the prompt on; before it all is the base model's.
    in_place: its parameters are `Weights`, and members are shown in the model one after the other; else terms tell them
    apart, and one batch serves all of them.
    """

    sites: tuple[Site, ...]
    lowest_layer: int
    answers_only: bool
    in_place: bool

    @property
    def parameters(self) -> Parameters:
        """The searched numbers: `Weights` where they are the model's own."""
        ...

    def terms(self, settings: Sequence[Setting | None]) -> Mapping[str, Term]:
        """By path of a site, the term for tokens of these slots; None stands for the model as it is."""
        ...


@runtime_checkable
class AdapterSpace(Space, Protocol):
    """A space over small tensors beside the model, whose weights never move."""

    def low_rank(self, values: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        """The weight changes of `dense` as products up @ down: (down [r, in], up [out, r]) by path of a site, fp32.

        values: what `Parameters.values` returns.
        """
        ...

    def dense(self, values: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The same as plain weights: (weight change [out, in] by site, bias change [out] by site), fp32."""
        ...
