"""`core`: W + B R_m A with A, B frozen and shared by all modules, R_m (r x r) searched, R_m = 0 at the start.

x A^T is computed once for all members; only the small R differs by row. The nearest published parametrisation is
LoRA-XS (Balazy et al. 2024). A and B have orthonormal rows and columns: the top singular vectors of W (`svd`) or
random ones from keys (`orthonormal`). sigma is relative to |W|_F / sqrt(min(out, in)), the RMS singular value of W.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from esagent.core.laws import Law
from esagent.core.noise import gaussian, key
from esagent.errors import ConfigError
from esagent.spaces.base import Term
from esagent.spaces.forms import Dense
from esagent.spaces.parameters import Parameters
from esagent.spaces.partitions import Partition
from esagent.spaces.sites import Site
from esagent.spaces.tensors import SearchTensor, Setting


class CoreSpace:
    """r x r cores at `sites`, one set per module."""

    in_place = False

    def __init__(
        self,
        sites: Sequence[Site],
        modules: Sequence[str],
        partition: Partition,
        rank: int,
        init: str,
        answers_only: bool = False,
        law: Law = "gaussian",
    ) -> None:
        self.sites = tuple(sites)
        self.answers_only = answers_only
        self.rank = rank
        self.lowest_layer = min(s.layer for s in self.sites)
        self._factors = {s.path: _factors(s, rank, init) for s in self.sites}
        self.parameters = Parameters(
            [
                SearchTensor(
                    weight=f"{site.path}.weight",
                    site=site.path,
                    size=rank * rank,
                    scale=float(site.module.weight.float().norm() / min(site.module.weight.shape) ** 0.5),
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
        """x A^T for all tokens, then each token's own R, then B^T."""
        slots = [self.parameters.values(s.module, s.perturbation) if s else {} for s in settings]
        return {site.path: self._term(site, slots) for site in self.sites}

    def _term(self, site: Site, slots: Sequence[Mapping[str, Tensor]]) -> Term:
        weight = site.module.weight
        zero = torch.zeros(self.rank * self.rank)
        stacked = torch.stack([slot.get(f"{site.path}.weight", zero) for slot in slots]).view(-1, self.rank, self.rank)
        cores = stacked.to(weight.device, weight.dtype)
        down, up = (f.to(weight.device, weight.dtype) for f in self._factors[site.path])

        def term(x: Tensor, slot: Tensor) -> Tensor:
            inner = x @ down.T
            mixed = torch.bmm(cores[slot], inner[:, :, None])[:, :, 0]
            return mixed @ up.T

        return term

    def low_rank(self, values: Mapping[str, Tensor]) -> dict[str, tuple[Tensor, Tensor]]:
        """(A, B R) by site."""
        factors = {}
        for weight, value in values.items():
            path = weight.removesuffix(".weight")
            down, up = self._factors[path]
            factors[path] = (down, up @ value.view(self.rank, self.rank))
        return factors

    def dense(self, values: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Weight changes B R A by site; no biases."""
        return {path: up @ down for path, (down, up) in self.low_rank(values).items()}, {}


def _factors(site: Site, rank: int, init: str) -> tuple[Tensor, Tensor]:
    """Frozen A [r, in] with orthonormal rows and B [out, r] with orthonormal columns, fp32 on the CPU."""
    weight = site.module.weight.detach().float().cpu()
    out, width = weight.shape
    if rank > min(out, width):
        raise ConfigError(f"space.rank={rank}: {site.path} is {out} x {width}; at most {min(out, width)}")
    if init == "svd":
        up, _, down = torch.linalg.svd(weight, full_matrices=False)
        return _fixed_signs(up[:, :rank], down[:rank])
    seed = key("core factors", site.path)
    down = torch.linalg.qr(gaussian(seed, "A", 0, width * rank).view(width, rank))[0].T
    up = torch.linalg.qr(gaussian(seed, "B", 0, out * rank).view(out, rank))[0]
    return down.contiguous(), up.contiguous()


def _fixed_signs(up: Tensor, down: Tensor) -> tuple[Tensor, Tensor]:
    """Singular vectors are defined up to a sign; the largest entry of each left vector is made positive."""
    sign = torch.sign(up[up.abs().argmax(dim=0), torch.arange(up.shape[1])])
    return (sign[:, None] * down).contiguous(), (up * sign).contiguous()
