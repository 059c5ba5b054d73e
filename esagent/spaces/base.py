"""The seam of a space whose members differ by small per-token terms, so that one batch serves the whole population."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from torch import Tensor

from esagent.spaces.parameters import Parameters
from esagent.spaces.sites import Site
from esagent.spaces.tensors import Setting

Term = Callable[[Tensor, Tensor], Tensor]
"""(input of the linear layer [T, in], slot of each token [T]) -> what to add to its output [T, out]."""


class AdapterSpace(Protocol):
    """Named blocks of small tensors that add a term to the output of some linear layers.

    sites: the linear layers that terms are added to.
    lowest_layer: the first layer any of them touches; everything below is the same for all members.
    answers_only: the terms act from the last token of the prompt on; the prompt before it is the base model's.
    """

    parameters: Parameters
    sites: tuple[Site, ...]
    lowest_layer: int
    answers_only: bool

    def terms(self, settings: Sequence[Setting | None]) -> dict[str, Term]:
        """By path of a site, the term for tokens of these slots; None stands for the base model."""
        ...

    def low_rank(self, values: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        """The weight changes of `dense` as products up @ down: (down [r, in], up [out, r]) by path of a site, fp32.

        values: what `Parameters.values` returns.
        """
        ...

    def dense(self, values: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The same as plain weights: (weight change [out, in] by site, bias change [out] by site), fp32."""
        ...
