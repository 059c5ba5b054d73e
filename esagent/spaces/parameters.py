"""The searched parameters of spaces that leave the base weights alone: small fp32 tensors, one set per module.

`theta_t = centre_t + sign * sigma[block] * scale_t * eps_t`, where eps_t is the noise of tensor t under the direction's
seed and scale_t the tensor's own scale, so that one sigma serves all layers. The centre is kept in fp32: no step is
lost to rounding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from esagent.backends.base import Applied
from esagent.core.noise import gaussian
from esagent.core.population import Block, Perturbation, Update
from esagent.core.rules import State, advance
from esagent.errors import RunError


@dataclass(frozen=True)
class SearchTensor:
    """One searched tensor. `name` keys its noise: the weight's Hugging Face name plus the module that owns it.

    site: path of the linear layer it belongs to. scale: what sigma is stated relative to.
    """

    name: str
    block: str
    site: str
    size: int
    scale: float


class Parameters:
    """Centre of the search and optimiser state, with the operations every backend needs."""

    def __init__(self, tensors: Sequence[SearchTensor]) -> None:
        self.tensors = tuple(tensors)
        self.by_block: dict[str, list[SearchTensor]] = {}
        for tensor in self.tensors:
            self.by_block.setdefault(tensor.block, []).append(tensor)
        self.centre = {t.name: torch.zeros(t.size) for t in self.tensors}
        self.state: dict[str, State] = {t.name: {} for t in self.tensors}

    def blocks(self) -> tuple[Block, ...]:
        """One block per module that owns parameters."""
        return tuple(Block(name, sum(t.size for t in ts)) for name, ts in self.by_block.items())

    def values(self, block: str, perturbation: Perturbation | None = None) -> dict[str, Tensor]:
        """The block's tensors (fp32, flat) by site: the centre, or the centre perturbed."""
        sigma = perturbation.sigma.get(block, 0.0) if perturbation is not None else 0.0
        out = {}
        for tensor in self.by_block.get(block, ()):
            value = self.centre[tensor.name]
            if perturbation is not None and sigma != 0.0:
                noise = gaussian(perturbation.seed, tensor.name, 0, tensor.size)
                value = value + (perturbation.sign * sigma * tensor.scale) * noise
            out[tensor.site] = value
        return out

    def apply(self, update: Update) -> Applied:
        """Move the centre along the update (see `Update`); estimates are summed in fp64, in the order of the terms."""
        before = dict(self.centre)
        intended: dict[str, Tensor] = {}
        moved: dict[str, float] = {}
        estimates = {t.name: self._estimate(update, t) for t in self.tensors}
        squares = {b: sum(float(estimates[t.name].square().sum()) for t in ts) for b, ts in self.by_block.items()}
        sizes = {block.name: block.size for block in self.blocks()}
        mean_square = {b: squares[b] / sizes[b] for b in sizes}
        if update.normalise == "total":
            mean_square = dict.fromkeys(sizes, sum(mean_square.values()) / len(sizes))
        for block, tensors in self.by_block.items():
            size, rms = sizes[block], mean_square[block] ** 0.5
            factor = update.step_size.get(block, 0.0)
            if update.normalise != "none":
                factor = factor / rms if rms > 0 else 0.0
            length = 0.0
            for tensor in tensors:
                direction, state = advance(
                    update.rule, estimates[tensor.name], self.state[tensor.name], update.step, update.scalars
                )
                self.state[tensor.name] = state
                step = factor * direction
                length += float(step.square().sum())
                intended[tensor.name] = tensor.scale * step
                self.centre[tensor.name] = (self.centre[tensor.name].double() + intended[tensor.name]).float()
            moved[block] = (length / size) ** 0.5
        return Applied(self.digest(), *self._fidelity(before, intended), moved)

    def _estimate(self, update: Update, tensor: SearchTensor) -> Tensor:
        total = torch.zeros(tensor.size, dtype=torch.float64)
        for term in update.terms:
            coefficient = term.coefficient.get(tensor.block, 0.0)
            if coefficient != 0.0:
                total += coefficient * gaussian(term.seed, tensor.name, 0, tensor.size).double()
        return total

    def _fidelity(self, before: Mapping[str, Tensor], intended: Mapping[str, Tensor]) -> tuple[float, float]:
        """cos(applied, intended) and the share of numbers that were meant to move and did not."""
        applied = torch.cat([(self.centre[n].double() - before[n].double()) for n in before])
        wanted = torch.cat([intended[n] for n in before])
        norms = float(applied.norm() * wanted.norm())
        meant = wanted != 0
        unmoved = float((meant & (applied == 0)).sum()) / max(1, int(meant.sum()))
        return (float(applied @ wanted) / norms if norms > 0 else float("nan")), unmoved

    def forget_optimiser(self) -> None:
        """Keep the centre and start the optimiser anew."""
        self.state = {t.name: {} for t in self.tensors}

    def digest(self) -> str:
        """BLAKE2b over names and bits of the centre and the optimiser state."""
        digest = hashlib.blake2b(digest_size=16)
        for name, tensor in sorted(self._flat().items()):
            digest.update(name.encode() + b"\0" + tensor.numpy().tobytes())
        return digest.hexdigest()

    def _flat(self) -> dict[str, Tensor]:
        flat = {f"centre/{name}": tensor for name, tensor in self.centre.items()}
        for name, state in self.state.items():
            flat.update({f"state/{name}/{key}": value for key, value in state.items()})
        return flat

    def save(self, path: Path) -> None:
        """Write centre and optimiser state as safetensors."""
        save_file({k: v.contiguous() for k, v in self._flat().items()}, path)

    def load(self, path: Path) -> None:
        """Read what `save` wrote. Raises RunError naming the first tensor that does not fit."""
        loaded = load_file(path)
        for tensor in self.tensors:
            found = loaded.get(f"centre/{tensor.name}")
            if found is None or found.shape != (tensor.size,):
                raise RunError(f"{path}: no tensor {tensor.name!r} of {tensor.size} numbers; another space or model?")
        self.centre = {t.name: loaded[f"centre/{t.name}"] for t in self.tensors}
        self.state = {t.name: {} for t in self.tensors}
        for key, value in loaded.items():
            kind, _, rest = key.partition("/")
            if kind == "state":
                name, _, slot = rest.rpartition("/")
                self.state[name][slot] = value
