"""`bias`: one additive vector per module and site, a steering vector that the search moves.

y = W x + b_m for a request to module m, with b_m = 0 at the start (the base model exactly). sigma is relative to
|W|_F / sqrt(out), the RMS output of the layer for an input of independent unit-variance numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from esagent.core.laws import Law
from esagent.spaces.base import Term
from esagent.spaces.forms import Dense
from esagent.spaces.parameters import Parameters
from esagent.spaces.partitions import Partition
from esagent.spaces.sites import Site
from esagent.spaces.tensors import SearchTensor, Setting


class BiasSpace:
    """Additive vectors on the outputs of `sites`, one set per module."""

    in_place = False

    def __init__(
        self,
        sites: Sequence[Site],
        modules: Sequence[str],
        partition: Partition,
        answers_only: bool = False,
        law: Law = "gaussian",
    ) -> None:
        self.sites = tuple(sites)
        self.answers_only = answers_only
        self.lowest_layer = min(s.layer for s in self.sites)
        self.parameters = Parameters(
            [
                SearchTensor(
                    weight=f"{site.path}.bias",
                    site=site.path,
                    size=site.module.out_features,
                    scale=float(site.module.weight.float().norm() / site.module.out_features**0.5),
                    owner=module,
                    layer=site.layer,
                )
                for module in modules
                for site in self.sites
            ],
            partition,
            Dense(law=law),
        )

    def terms(self, settings: Sequence[Setting | None]) -> dict[str, Term]:
        """A gather from a table [slots, out] per site."""
        slots = [self.parameters.values(s.module, s.perturbation) if s else {} for s in settings]
        return {site.path: self._term(site, slots) for site in self.sites}

    def _term(self, site: Site, slots: Sequence[Mapping[str, Tensor]]) -> Term:
        weight = site.module.weight
        zero = torch.zeros(site.module.out_features)
        table = torch.stack([slot.get(f"{site.path}.bias", zero) for slot in slots]).to(weight.device, weight.dtype)

        def term(_: Tensor, slot: Tensor) -> Tensor:
            return table[slot]

        return term

    def low_rank(self, values: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        """No weight changes."""
        return {}

    def dense(self, values: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """No weight changes; the vectors are biases."""
        return {}, {weight.removesuffix(".bias"): value for weight, value in values.items()}
