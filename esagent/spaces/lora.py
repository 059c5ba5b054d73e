"""`lora`: a low-rank adapter B_m A per module and site, whose B is what the search moves.

    y = W x + B_m A x        B_m [out, r] = 0 at the start: the base model exactly

LoRA (Hu et al. 2021, arXiv 2106.09685) with its factor alpha / r left out (alpha = r): sigma states the size. A [r, in]
has orthonormal rows, drawn from keys. With sigma_a = 0 it is frozen and shared by all modules, and x A^T is computed
once for all members; with sigma_a > 0 every module has an A of its own, which moves together with B.

sigma is relative to |W|_F / sqrt(out r) for B and to 1 / sqrt(in), the RMS of its own numbers, for A, times sigma_b and
sigma_a. A x has r numbers of unit variance where x has `in` independent ones, so sigma is the RMS of what a
perturbation of B adds over the RMS output of the layer, at any layer, width and rank: as in `bias`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from esagent.core.laws import Law
from esagent.core.noise import gaussian, key
from esagent.errors import ConfigError
from esagent.spaces.base import Term
from esagent.spaces.batched import per_token
from esagent.spaces.forms import Dense
from esagent.spaces.parameters import Parameters
from esagent.spaces.partitions import Partition
from esagent.spaces.sites import Site
from esagent.spaces.tensors import SearchTensor, Setting

DOWN, UP = ".lora_A.weight", ".lora_B.weight"


class LoraSpace:
    """Adapters of rank `rank` at `sites`, one set per module. sigma_a, sigma_b: factors on sigma for A and B."""

    in_place = False

    def __init__(
        self,
        sites: Sequence[Site],
        modules: Sequence[str],
        partition: Partition,
        rank: int,
        sigma_a: float,
        sigma_b: float,
        answers_only: bool = False,
        law: Law = "gaussian",
    ) -> None:
        self.sites = tuple(sites)
        self.answers_only = answers_only
        self.rank = rank
        self.lowest_layer = min(s.layer for s in self.sites)
        self._down = {site.path: _orthonormal_rows(site, rank) for site in self.sites}
        tensors = [
            tensor
            for module in modules
            for site in self.sites
            for tensor in _searched(site, module, rank, sigma_a, sigma_b)
        ]
        start = {t.name: self._start(t) for t in tensors}
        self.parameters = Parameters(tensors, partition, Dense(law=law), start)

    def _start(self, tensor: SearchTensor) -> Tensor:
        """Flat A as it is drawn, or a B of zeros."""
        if tensor.weight.endswith(DOWN):
            return self._down[tensor.site].flatten().clone()
        return torch.zeros(tensor.size)

    def terms(self, settings: Sequence[Setting | None]) -> dict[str, Term]:
        """A x, shared where A is frozen, then each token's own B."""
        slots = [self.parameters.values(s.module, s.perturbation) if s else {} for s in settings]
        return {site.path: self._term(site, slots) for site in self.sites}

    def _term(self, site: Site, slots: Sequence[Mapping[str, Tensor]]) -> Term:
        weight = site.module.weight
        zero, frozen = torch.zeros(len(weight) * self.rank), self._down[site.path]
        ups = torch.stack([slot.get(site.path + UP, zero) for slot in slots]).view(len(slots), -1, self.rank)
        ups = ups.to(weight.device, weight.dtype)
        own = [slot.get(site.path + DOWN) for slot in slots]
        if all(down is None for down in own):
            shared = frozen.to(weight.device, weight.dtype)

            def term(x: Tensor, slot: Tensor) -> Tensor:
                return per_token(ups, slot, x @ shared.T)

            return term
        downs = torch.stack([frozen if down is None else down.view_as(frozen) for down in own])
        downs = downs.to(weight.device, weight.dtype)

        def term_of_both(x: Tensor, slot: Tensor) -> Tensor:
            return per_token(ups, slot, per_token(downs, slot, x))

        return term_of_both

    def low_rank(self, values: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        """(A, B) by site."""
        factors = {}
        for weight, value in values.items():
            if weight.endswith(UP):
                path = weight.removesuffix(UP)
                down = values.get(path + DOWN, self._down[path]).view_as(self._down[path])
                factors[path] = (down, value.view(-1, self.rank))
        return factors

    def dense(self, values: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Weight changes B A by site; no biases."""
        return {path: up @ down for path, (down, up) in self.low_rank(values).items()}, {}


def _searched(site: Site, module: str, rank: int, sigma_a: float, sigma_b: float) -> Iterator[SearchTensor]:
    """A where its factor is above 0, and B."""
    out, width = site.module.weight.shape
    if sigma_a > 0:
        scale = sigma_a * width**-0.5
        yield SearchTensor(site.path + DOWN, site.path, rank * width, scale, module, site.layer, width)
    scale = sigma_b * float(site.module.weight.float().norm()) / (out * rank) ** 0.5
    yield SearchTensor(site.path + UP, site.path, out * rank, scale, module, site.layer, rank)


def _orthonormal_rows(site: Site, rank: int) -> Tensor:
    """A [r, in], fp32 on the CPU: the first factor of a Gaussian matrix from the site's key."""
    out, width = site.module.weight.shape
    if rank > min(out, width):
        raise ConfigError(f"space.rank={rank}: {site.path} is {out} x {width}; at most {min(out, width)}")
    draw = gaussian(key("lora factors", site.path), "A", 0, width * rank).view(width, rank)
    return torch.linalg.qr(draw)[0].T.contiguous()
