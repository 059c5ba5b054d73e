"""The centre of a search and its optimiser state: perturbed and moved in ranges, so that no noise needs a full tensor.

    theta_t = centre_t + sign * sigma[block] * scale_t * eps_t

eps_t is the noise of tensor t under the direction's seed and scale_t the tensor's own scale, so that one sigma serves
all layers. The centre is kept in fp32: no step is lost to rounding.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from esagent.backends.base import Applied
from esagent.core.population import Block, Perturbation, Update
from esagent.core.rules import State, advance
from esagent.errors import RunError
from esagent.spaces.fidelity import Fidelity
from esagent.spaces.forms import Dense, NoiseForm
from esagent.spaces.partitions import Grouped, Partition, by_owner
from esagent.spaces.tensors import SearchTensor

RANGE = 1 << 18  # numbers worked on at once: they stay in the processor's cache
_KEPT = 1 << 22  # numbers of an estimate that are rather kept than computed twice


class Parameters:
    """`tensors` from their `start` (zeros by default), in the blocks of `partition`, under noise of one form."""

    def __init__(
        self,
        tensors: Sequence[SearchTensor],
        partition: Partition | None = None,
        form: NoiseForm | None = None,
        start: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.tensors = tuple(tensors)
        self.partition: Partition = partition or Grouped(by_owner)
        self.form: NoiseForm = form or Dense()
        self.centre = {t.name: torch.zeros(t.size) if start is None else start[t.name] for t in self.tensors}
        self.state: dict[str, State] = {t.name: {} for t in self.tensors}
        self._blocks = self.partition.blocks(self.tensors)
        self._near: dict[str, frozenset[str]] = {}
        self._small = sum(tensor.size for tensor in self.tensors) <= _KEPT

    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the partition."""
        return self._blocks

    def of(self, module: str) -> tuple[SearchTensor, ...]:
        """The tensors that act in a request to `module`."""
        return tuple(tensor for tensor in self.tensors if tensor.owner in ("", module))

    def effective(self, module: str, perturbation: Perturbation | None) -> Perturbation | None:
        """What of a perturbation reaches `module`: None when its parameters are the centre's."""
        if perturbation is None:
            return None
        if module not in self._near:
            self._near[module] = frozenset(block.name for block in self.partition.blocks(self.of(module)))
        near = self._near[module]
        sigma = {name: value for name, value in sorted(perturbation.sigma.items()) if value != 0.0 and name in near}
        return replace(perturbation, sigma=sigma) if sigma else None

    def values(self, module: str, perturbation: Perturbation | None = None) -> dict[str, Tensor]:
        """The tensors that act in `module` (fp32, flat) by weight: the centre, or the centre perturbed."""
        return {
            tensor.weight: torch.cat([part for _, part in self.ranges(tensor, perturbation)])
            for tensor in self.of(module)
        }

    def ranges(self, tensor: SearchTensor, perturbation: Perturbation | None = None) -> Iterator[tuple[int, Tensor]]:
        """(start, values fp32) range by range: the centre of `tensor`, or the centre perturbed."""
        centre = self.centre[tensor.name]
        for start, count in spans(tensor):
            value = centre[start : start + count]
            if perturbation is not None:
                sigma = self.partition.weights(tensor, perturbation.sigma, perturbation.partition, start, count)
                if isinstance(sigma, Tensor) or sigma != 0.0:
                    noise = self.form.draw(perturbation.seed, tensor, start, count)
                    value = value + (perturbation.sign * tensor.scale) * sigma * noise
            yield start, value

    def apply(self, update: Update) -> Applied:
        """Move the centre along the update (see `Update`); estimates are summed in fp64, in the order of the terms."""
        kept: dict[tuple[str, int], Tensor] = {}
        factors = self._factors(update, kept)
        fidelity, squares = Fidelity(), Counter[str]()
        for tensor in self.tensors:
            for start, count in spans(tensor):
                estimate = self._estimate(update, tensor, start, count, kept)
                factor = self.partition.weights(tensor, factors, update.partition, start, count)
                step = factor * self._advance(update, tensor, start, estimate)
                squares.update(self.partition.sums(tensor, step.square(), update.partition, start))
                intended = tensor.scale * step
                fidelity.add(intended, self._move(tensor, start, intended))
        sizes = {block.name: block.size for block in self._blocks}
        moved = {name: (squares[name] / size) ** 0.5 for name, size in sizes.items()}
        return Applied(self.digest(), fidelity.cosine, fidelity.unmoved, moved)

    def _factors(self, update: Update, kept: dict[tuple[str, int], Tensor]) -> dict[str, float]:
        """What the estimate of each block is multiplied by: the step size over the RMS that it is normalised by."""
        sizes = {block.name: block.size for block in self._blocks}
        rates = {name: update.step_size.get(name, 0.0) for name in sizes}
        if update.normalise == "none":
            return rates
        squares = Counter[str]()
        for tensor in self.tensors:
            for start, count in spans(tensor):
                estimate = self._estimate(update, tensor, start, count, kept)
                squares.update(self.partition.sums(tensor, estimate.square(), update.partition, start))
        mean_square = {name: squares[name] / size for name, size in sizes.items()}
        if update.normalise == "total":
            mean_square = dict.fromkeys(sizes, sum(mean_square.values()) / len(sizes))
        return {name: rates[name] / mean_square[name] ** 0.5 if mean_square[name] > 0 else 0.0 for name in sizes}

    def _estimate(
        self, update: Update, tensor: SearchTensor, start: int, count: int, kept: dict[tuple[str, int], Tensor]
    ) -> Tensor:
        place = tensor.name, start
        if place in kept:
            return kept.pop(place)
        terms = [
            (term.seed, self.partition.weights(tensor, term.coefficient, update.partition, start, count))
            for term in update.terms
        ]
        estimate = self.form.total(terms, tensor, start, count)
        if update.normalise != "none" and self._small:
            kept[place] = estimate
        return estimate

    def _advance(self, update: Update, tensor: SearchTensor, start: int, estimate: Tensor) -> Tensor:
        """The direction that the rule makes of an estimate, fp64; the state of a stateful rule is kept in fp32."""
        state, end = self.state[tensor.name], start + len(estimate)
        here = {slot: value[start:end] for slot, value in state.items()}
        direction, after = advance(update.rule, estimate, here, update.step, update.scalars)
        for slot, value in after.items():
            if slot not in state:
                state[slot] = torch.zeros(tensor.size, device=value.device)
            state[slot][start:end] = value.float()
        return direction

    def _move(self, tensor: SearchTensor, start: int, step: Tensor) -> Tensor:
        """Add `step` (fp64) to the centre from `start` on; returns what it really moved by (fp64)."""
        place = self.centre[tensor.name][start : start + len(step)]
        before = place.double()
        place.copy_((before + step).float())
        return place.double() - before

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


def spans(tensor: SearchTensor) -> Iterator[tuple[int, int]]:
    """(start, count) of the ranges of a tensor, whole rows each."""
    row = tensor.row or 1
    step = max(1, RANGE // row) * row
    for start in range(0, tensor.size, step):
        yield start, min(step, tensor.size - start)
