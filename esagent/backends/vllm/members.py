"""Members that differ in every weight, made where the weights are: a worker gets a perturbation, never a tensor.

    in the model = round(centre + sign * sigma[block] * scale * eps)

as in `spaces.weights`, band by band of whole rows of the Hugging Face parameter. Whatever stands in the model is made
from the centre alone, so members leave no trace, and the bits are those of a model that lies in one piece.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from esagent.backends.vllm.layout import Band
from esagent.core.population import Perturbation
from esagent.spaces.factored import LowRank
from esagent.spaces.forms import Dense, NoiseForm
from esagent.spaces.parameters import RANGE
from esagent.spaces.partitions import Partition, RandomParts
from esagent.spaces.tensors import SearchTensor
from esagent.spaces.weights import rounded


@dataclass(frozen=True)
class Held:
    """A part of a searched tensor on this device. shape: of the whole. target: [height, width] or [height], a view of
    vLLM's parameter."""

    tensor: SearchTensor
    shape: tuple[int, ...]
    band: Band
    target: Tensor


class Members:
    """The searched weights that a worker holds: their centre, and what stands in the model."""

    def __init__(self, held: Sequence[Held], partition: Partition, form: NoiseForm) -> None:
        self._held = list(held)
        device = held[0].target.device if held else torch.device("cpu")
        self._partition, self._form = on_device(partition, form, device)
        self._centre: dict[int, Tensor] = {}
        self._shown: Perturbation | None = None
        self._off: set[int] = set()

    def move(self, centre: Mapping[str, Tensor]) -> None:
        """Make `centre` (whole and flat, by name of the searched tensor) the centre, and show it.

        In one process it is looked at where it lies; what comes from another is kept.
        """
        for number, held in enumerate(self._held):
            whole = centre[held.tensor.name].view(held.shape)
            part = whole[slice(*held.band.rows)]
            if held.band.columns is not None:
                part = part[:, slice(*held.band.columns)]
            self._centre[number] = part.contiguous().to(held.target.device)
        self._off = set(range(len(self._held)))
        self._shown = None
        self.show(None)

    def show(self, member: Perturbation | None) -> None:
        """Make what stands in the model the member, or the centre. Nothing is written that stands already."""
        if member == self._shown and (member is not None or not self._off):
            return
        self._shown = None
        for number, held in enumerate(self._held):
            here = member if member and self._reaches(member, held.tensor) else None
            if here is None and number not in self._off:
                continue
            self._off.add(number)
            for rows, value in self._rows(held, self._centre[number], here):
                held.target[rows].copy_(value)
            if here is None:
                self._off.remove(number)
        self._shown = member

    def _reaches(self, member: Perturbation, tensor: SearchTensor) -> bool:
        sigma = self._partition.weights(tensor, member.sigma, member.partition, 0, 1)
        return isinstance(sigma, Tensor) or sigma != 0.0

    def _rows(self, held: Held, centre: Tensor, member: Perturbation | None) -> Iterator[tuple[slice, Tensor]]:
        """(rows of the part, their values), some rows at a time."""
        width = held.tensor.row or 1
        step = max(1, RANGE // width)
        for first in range(0, held.band.height, step):
            rows = slice(first, min(first + step, held.band.height))
            part = centre[rows]
            if member is None:
                yield rows, part
                continue
            start = (held.band.rows[0] + first) * width
            if held.band.columns is None or held.band.columns == (0, width):
                yield rows, self._made(part.reshape(-1), held.tensor, start, member).view(part.shape)
                continue
            across = slice(*held.band.columns)
            whole = part.new_zeros(len(part), width)
            whole[:, across] = part
            yield rows, self._made(whole.view(-1), held.tensor, start, member).view(whole.shape)[:, across]

    def _made(self, value: Tensor, tensor: SearchTensor, start: int, member: Perturbation) -> Tensor:
        """The elements from `start` on of a member, `value` being those of the centre."""
        lengths = {block: member.sign * tensor.scale * sigma for block, sigma in member.sigma.items()}
        weight = self._partition.weights(tensor, lengths, member.partition, start, len(value))
        if not isinstance(weight, Tensor) and weight == 0.0:
            return value
        moved = self._form.add(value.float(), member.seed, weight, tensor, start)
        return moved if value.dtype == torch.float32 else rounded(moved, member, tensor, start)


def on_device(partition: Partition, form: NoiseForm, device: torch.device) -> tuple[Partition, NoiseForm]:
    """Both, drawing their numbers on `device`."""
    if isinstance(partition, RandomParts):
        partition = dataclasses.replace(partition, device=device)
    if isinstance(form, Dense):
        form = dataclasses.replace(form, device=device)
    if isinstance(form, LowRank):
        form = form.on(device)
    return partition, form
