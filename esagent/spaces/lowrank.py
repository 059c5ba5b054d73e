"""`lowrank`: the model's own weights under noise of low rank, so that one batch serves the whole population (EGGROLL).

    y = W x + sigma A_s (B_s^T x) / sqrt(r)        for a token of member s

W, shared by all members and modules, stands in the model and is moved by the full-rank sum over directions (see
`factored`); a member is two thin factors per matrix. The embedding adds the row of A_s that belongs to the token, times
B_s^T; tied to the head it is one searched tensor in two places. Vectors (biases, weights of norms) get a dense vector
per member. Sarkar et al. 2025, arXiv 2511.16652.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from esagent.core.laws import Law
from esagent.core.population import Perturbation
from esagent.errors import ConfigError
from esagent.spaces.base import Term
from esagent.spaces.factored import LowRank
from esagent.spaces.named import Named, lowest_layer
from esagent.spaces.partitions import Partition
from esagent.spaces.places import Table, Way, together, way_of
from esagent.spaces.sites import Site
from esagent.spaces.tensors import SearchTensor, Setting
from esagent.spaces.weights import Weights


def matrices(found: Sequence[Named]) -> list[Named]:
    """Without the vectors. Raises ConfigError when nothing else is there."""
    kept = [named for named in found if named.tensor.dim() > 1]
    if not kept:
        raise ConfigError(
            "space.vectors=none: leaves no parameter; choose space.vectors=dense or another space.include"
        )
    return kept


class LowRankSpace:
    """Noise of rank `rank` on the matrices among the parameters `found` of `model`, dense noise on the vectors."""

    in_place = False
    answers_only = False

    def __init__(
        self,
        model: nn.Module,
        found: Sequence[Named],
        depth: int,
        partition: Partition,
        rank: int,
        relative: bool = False,
        keep_master: bool = True,
        law: Law = "gaussian",
    ) -> None:
        self._form = LowRank(rank, found[0].tensor.device, law)
        self.parameters = Weights(found, partition, self._form, relative=relative, keep_master=keep_master)
        searched = {tensor.weight: tensor for tensor in self.parameters.tensors}
        kept = [named for named in found if named.name in searched]
        self.lowest_layer = lowest_layer(kept, depth)
        self._dtype = found[0].tensor.dtype
        self._places: dict[str, list[tuple[SearchTensor, Way]]] = {}
        sites = {}
        for named in kept:
            for name in named.names:
                path, _, kind = name.rpartition(".")
                site = Site(path, named.layer, model.get_submodule(path))
                self._places.setdefault(path, []).append((searched[named.name], way_of(site.module, kind, name)))
                sites[path] = site
        self.sites = tuple(sites.values())
        self._other = [
            path
            for path, here in self._places.items()
            if any(not tensor.row or tensor.layer < 0 for tensor, _ in here)
            or not isinstance(sites[path].module, nn.Linear)
        ]
        self._drawn: dict[int, dict[str, Table]] = {}
        self._made: tuple[tuple[Perturbation | None, ...], dict[str, Term]] | None = None

    def terms(self, settings: Sequence[Setting | None]) -> dict[str, Term]:
        """What the noise of each token's slot adds; no term where no slot has any."""
        members = tuple(setting.perturbation if setting else None for setting in settings)
        if self._made is None or self._made[0] != members:
            seeds = {member.seed for member in members if member}
            self._drawn = {seed: drawn for seed, drawn in self._drawn.items() if seed in seeds}
            tables = {t.name: table for t in self.parameters.tensors if (table := self._table(t, members))}
            terms = {}
            for path, here in self._places.items():
                parts = [way(tables[tensor.name]) for tensor, way in here if tensor.name in tables]
                if parts:
                    terms[path] = together(parts)
            self._made = members, terms
        return self._made[1]

    def factors(self, member: Perturbation) -> dict[str, tuple[Tensor, Tensor]]:
        """What `member` differs by in the linear layers, as products up @ down: (down [r, in], up [out, r]) by path of
        a site, fp32. All of it, where `others` is empty."""
        found = {}
        for path, here in self._places.items():
            for tensor, _ in here:
                size = self._size(tensor, member)
                if size and path not in self._other:
                    up, down = self._noise(member.seed, tensor)
                    found[path] = (down.T, up * size)
        return found

    @property
    def rank(self) -> int:
        """Of the noise."""
        return self._form.rank

    @property
    def others(self) -> tuple[str, ...]:
        """Searched parameters that are no weight of a linear layer in the stack."""
        return tuple(tensor.weight for path in self._other for tensor, _ in self._places[path])

    def _table(self, tensor: SearchTensor, members: Sequence[Perturbation | None]) -> Table | None:
        """Of the members' slots in the number format of the model; None where none of them moves the tensor."""
        sizes = [self._size(tensor, member) if member else 0.0 for member in members]
        drawn = [
            self._noise(member.seed, tensor) for member, size in zip(members, sizes, strict=True) if member and size
        ]
        if not drawn:
            return None
        table = tuple(part.new_zeros(len(members), *part.shape, dtype=self._dtype) for part in drawn[0])
        noises = iter(drawn)
        for slot, size in enumerate(sizes):
            if size:
                for place, part, factor in zip(table, next(noises), (size, 1.0), strict=False):
                    place[slot] = part * factor
        return table

    def _size(self, tensor: SearchTensor, member: Perturbation) -> float:
        """sigma times sign and scale, over sqrt(r) for a matrix: what the first factor is multiplied by."""
        sigma = self.parameters.partition.weights(tensor, member.sigma, member.partition, 0, tensor.size)
        if isinstance(sigma, Tensor):
            raise ConfigError(f"{tensor.name}: noise of low rank has one sigma for all numbers of a matrix")
        return member.sign * tensor.scale * sigma / (self._form.rank**0.5 if tensor.row else 1.0)

    def _noise(self, seed: int, tensor: SearchTensor) -> Table:
        """A and B, or a vector; kept as long as its direction is asked for."""
        drawn = self._drawn.setdefault(seed, {})
        if tensor.name not in drawn:
            form = self._form
            drawn[tensor.name] = (
                form.factors(seed, tensor) if tensor.row else (form.draw(seed, tensor, 0, tensor.size),)
            )
        return drawn[tensor.name]
