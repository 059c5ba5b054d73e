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
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from esagent.backends.base import Applied
from esagent.core.population import Block, Perturbation, Update
from esagent.core.rules import State, advance
from esagent.errors import RunError
from esagent.spaces.fidelity import Fidelity
from esagent.spaces.forms import Dense, NoiseForm
from esagent.spaces.partitions import Grouped, Partition, Weight, by_owner
from esagent.spaces.tensors import SearchTensor

RANGE = 1 << 18  # numbers worked on at once: they stay in the processor's cache
_LONG_RANGE = 1 << 23  # the same where a range needs no memory of its own
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

    def reach(self, module: str) -> frozenset[str]:
        """The blocks that act in a request to `module`."""
        if module not in self._near:
            self._near[module] = frozenset(block.name for block in self.partition.blocks(self.of(module)))
        return self._near[module]

    def effective(self, module: str, perturbation: Perturbation | None) -> Perturbation | None:
        """What of a perturbation reaches `module`: None when its parameters are the centre's."""
        if perturbation is None:
            return None
        near = self.reach(module)
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
                weight = self._weight(tensor, perturbation, start, count)
                if isinstance(weight, Tensor) or weight != 0.0:
                    value = self.form.add(value.float(), perturbation.seed, weight, tensor, start)
            yield start, value

    def write(self, out: Tensor, tensor: SearchTensor, perturbation: Perturbation) -> None:
        """Write the centre of `tensor` (fp32) perturbed into `out`, rounded to nearest in its format.

        The same as `ranges`, in longer ones where nothing but `out` is written.
        """
        one = not isinstance(self._weight(tensor, perturbation, 0, 1), Tensor)
        for start, count in spans(tensor, _LONG_RANGE if one else RANGE):
            here = slice(start, start + count)
            weight = self._weight(tensor, perturbation, start, count)
            self.form.add(self.centre[tensor.name][here], perturbation.seed, weight, tensor, start, out[here])

    def meant(self, tensor: SearchTensor, perturbation: Perturbation, start: int, count: int) -> Tensor:
        """What a perturbation is to add to these elements, before any rounding: float64 [count]."""
        weight = self._weight(tensor, perturbation, start, count)
        return self.form.total([(perturbation.seed, weight)], tensor, start, count)

    def _weight(self, tensor: SearchTensor, perturbation: Perturbation, start: int, count: int) -> Weight:
        """What the noise of these elements is multiplied by."""
        lengths = {b: perturbation.sign * tensor.scale * sigma for b, sigma in perturbation.sigma.items()}
        return self.partition.weights(tensor, lengths, perturbation.partition, start, count)

    def apply(self, update: Update) -> Applied:
        """Move the centre along the update (see `Update`); estimates are summed in fp64, in the order of the terms."""
        kept: dict[tuple[str, int], Tensor] = {}
        units, rates = self._factors(update, kept)
        fidelity, squares = Fidelity(), Counter[str]()
        if update.scalars.get("pull"):
            for tensor in self.tensors:
                self.state[tensor.name].setdefault("start", self.centre[tensor.name].clone())
        for tensor in self.tensors:
            for start, count in spans(tensor):
                estimate = self._estimate(update, tensor, start, count, kept)
                if units:
                    estimate = self.partition.weights(tensor, units, update.partition, start, count) * estimate
                factor = self.partition.weights(tensor, rates, update.partition, start, count)
                step = factor * self._advance(update, tensor, start, estimate)
                if update.scalars.get("pull"):
                    step = step - self._pull(update, tensor, start, count)
                squares.update(self.partition.sums(tensor, step.square(), update.partition, start))
                intended = tensor.scale * step
                fidelity.add(intended, self._move(tensor, start, intended))
        sizes = {block.name: block.size for block in self._blocks}
        moved = {name: (squares[name] / size) ** 0.5 for name, size in sizes.items()}
        return Applied(self.digest(), fidelity.cosine, fidelity.unmoved, moved)

    def _factors(
        self, update: Update, kept: dict[tuple[str, int], Tensor]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """By block, what an estimate is multiplied by before and after its rule: 1 over its RMS, and the step size.

        The first is empty where nothing is to be done before: without normalising, and for the plain rule, whose two
        factors are one.
        """
        sizes = {block.name: block.size for block in self._blocks}
        rates = {name: update.step_size.get(name, 0.0) for name in sizes}
        if update.normalise == "none":
            return {}, rates
        squares = Counter[str]()
        for tensor in self.tensors:
            for start, count in spans(tensor):
                estimate = self._estimate(update, tensor, start, count, kept)
                squares.update(self.partition.sums(tensor, estimate.square(), update.partition, start))
        mean_square = {name: squares[name] / size for name, size in sizes.items()}
        if update.normalise == "total":
            mean_square = dict.fromkeys(sizes, sum(mean_square.values()) / len(sizes))
        plain = update.rule == "plain"
        tops = rates if plain else dict.fromkeys(sizes, 1.0)
        over = {name: tops[name] / mean_square[name] ** 0.5 if mean_square[name] > 0 else 0.0 for name in sizes}
        return ({}, over) if plain else (over, rates)

    def _pull(self, update: Update, tensor: SearchTensor, start: int, count: int) -> Tensor | float:
        """pull * step size * (centre - start), in units of the tensor's scale, fp64."""
        if not tensor.scale:
            return 0.0
        rate = self.partition.weights(tensor, update.step_size, update.partition, start, count)
        place = slice(start, start + count)
        away = self.centre[tensor.name][place].double() - self.state[tensor.name]["start"][place]
        return update.scalars["pull"] / tensor.scale * rate * away

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

    def displacement(self, start: Path) -> dict[str, float]:
        """RMS distance of the centre per block from the one that `save` wrote to `start`, in units of its scale.

        Empty where blocks are drawn anew every step. Raises RunError when the file cannot be read or does not fit.
        """
        if self.partition.redrawn:
            return {}
        squares = Counter[str]()
        try:
            with safe_open(start, framework="pt") as file:
                for tensor in self.tensors:
                    there = file.get_slice(f"centre/{tensor.name}")
                    for first, count in spans(tensor):
                        here = self.centre[tensor.name][first : first + count].double()
                        away = here - there[first : first + count].to(here.device).double()
                        over = 1.0 / tensor.scale if tensor.scale else 0.0
                        squares.update(self.partition.sums(tensor, (over * away).square(), 0, first))
        except (OSError, SafetensorError, RuntimeError) as error:
            raise RunError(f"{start}: {error}; another space or model?") from error
        return {block.name: (squares[block.name] / block.size) ** 0.5 for block in self._blocks}

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


def spans(tensor: SearchTensor, length: int | None = None) -> Iterator[tuple[int, int]]:
    """(start, count) of the ranges of a tensor, whole rows each, of about `length` numbers (RANGE by default)."""
    row = tensor.row or 1
    step = max(1, (length or RANGE) // row) * row
    for start in range(0, tensor.size, step):
        yield start, min(step, tensor.size - start)
