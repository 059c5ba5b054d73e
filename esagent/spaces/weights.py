"""The model's own parameters as what is searched: a centre beside the model, and what stands in the model now.

    in the model = round(centre + sign * sigma[block] * scale * eps)        eps = 0 for the centre itself

precision=master: the centre is an fp32 copy, moved in fp32, and rounding is to nearest.
precision=stochastic: the centre is a copy in the parameters' own format, half as large in bfloat16. It is moved, and
members are made of it, by stochastic rounding under keys, so that neither small steps nor small perturbations of large
weights are lost on average, and a replay gives the same bits.

Whatever stands in the model is made from the centre alone, never from what stood there before: thousands of members
leave no trace. All is done in ranges, without a temporary of the size of a parameter. `cosine` and `unmoved` of an
update speak of the numbers in the model, which is what members and evaluations run on: with a master in fp32 under a
bfloat16 model, steps too small to show yet count as unmoved, though the master keeps them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from esagent.backends.base import Applied
from esagent.core.checksum import checksum
from esagent.core.noise import key, parts
from esagent.core.population import Perturbation, Update
from esagent.core.rounding import WORDS, stochastic
from esagent.errors import ConfigError, RunError
from esagent.spaces.forms import NoiseForm
from esagent.spaces.named import Named
from esagent.spaces.parameters import Parameters, spans
from esagent.spaces.partitions import Partition
from esagent.spaces.tensors import SearchTensor

_FORMATS = (torch.float32, torch.bfloat16)


class Weights(Parameters):
    """The parameters `found`, searched in place.

    relative: sigma is in units of each tensor's own RMS (tensors of zeros, which have none, are left out); otherwise in
    units of 1, as in ES at Scale (arXiv 2509.24372). Raises ConfigError for a parameter that cannot be searched so.
    """

    def __init__(
        self,
        found: Sequence[Named],
        partition: Partition,
        form: NoiseForm | None = None,
        *,
        relative: bool = False,
        keep_master: bool = True,
    ) -> None:
        scales = {named.name: _rms(named.tensor) if relative else 1.0 for named in found}
        found = [named for named in found if scales[named.name] > 0]
        for named in found:
            if named.tensor.dtype not in _FORMATS or not named.tensor.is_contiguous():
                raise ConfigError(f"space: {named.name} is {named.tensor.dtype}; expected whole float32 or bfloat16")
        self._in_model = {named.name: named.tensor.view(-1) for named in found}
        super().__init__(
            [_tensor(named, scales[named.name]) for named in found],
            partition,
            form,
            {
                name: flat.to(torch.float32 if keep_master else flat.dtype, copy=True)
                for name, flat in self._in_model.items()
            },
        )
        self.watchers: list[Callable[[Tensor], None]] = []
        """Called with every parameter that was written, flat and whole."""
        self._shown: Perturbation | None = None
        self._off: set[str] = set()  # tensors that may not be the centre's in the model
        self._rounding = 0

    def standing(self, tensor: SearchTensor) -> Tensor:
        """What stands in the model of `tensor`, flat and in the model's format; not to be written."""
        return self._in_model[tensor.name]

    def show(self, perturbation: Perturbation | None = None) -> None:
        """Make what stands in the model the centre, or the centre perturbed. Nothing is written that stands already."""
        if perturbation == self._shown and (perturbation is not None or not self._off):
            return
        self._shown = None  # until all is written: whoever is stopped in between finds `_off` right
        for tensor in self.tensors:
            here = perturbation if perturbation and self._reaches(perturbation, tensor) else None
            if here is None and tensor.name not in self._off:
                continue
            self._off.add(tensor.name)
            flat = self._in_model[tensor.name]
            if here is not None and self.centre[tensor.name].dtype == torch.float32:
                self.write(flat, tensor, here)
            else:
                for start, value in self.ranges(tensor, here):
                    flat[start : start + len(value)] = rounded(value, here, tensor, start) if here else value
            if here is None:
                self._off.remove(tensor.name)
            self._tell(flat)
        self._shown = perturbation

    def _reaches(self, perturbation: Perturbation, tensor: SearchTensor) -> bool:
        sigma = self.partition.weights(tensor, perturbation.sigma, perturbation.partition, 0, 1)
        return isinstance(sigma, Tensor) or sigma != 0.0

    def apply(self, update: Update) -> Applied:
        """Move the centre and show it (see `Update`)."""
        self._shown = None
        self._off.update(self._in_model)
        self._rounding = key("update", update.step, update.partition)
        applied = super().apply(update)
        self._off.clear()
        self._tell(*self._in_model.values())
        return applied

    def _move(self, tensor: SearchTensor, start: int, step: Tensor) -> Tensor:
        """Add `step` (fp64) to the centre and show it; returns what the numbers in the model moved by (fp64)."""
        end = start + len(step)
        place, flat = self.centre[tensor.name][start:end], self._in_model[tensor.name][start:end]
        before = place.to(flat.dtype).double()
        moved = (place.double() + step).float()
        if place.dtype == torch.bfloat16:
            moved = stochastic(moved, parts(self._rounding, tensor.name, start, len(moved), WORDS, moved.device))
        place.copy_(moved)
        flat.copy_(place)
        return flat.double() - before

    def _tell(self, *written: Tensor) -> None:
        for watcher in self.watchers:
            for flat in written:
                watcher(flat)

    def digest(self) -> str:
        """BLAKE2b over names and checksums of the centre and the optimiser state."""
        digest = hashlib.blake2b(digest_size=16)
        for name, tensor in sorted(self._flat().items()):
            digest.update(name.encode() + b"\0" + checksum(tensor))
        return digest.hexdigest()

    def load(self, path: Path) -> None:
        """Read what `save` wrote into the numbers that are there, and show the centre.

        Raises RunError, and changes nothing, naming the first tensor that does not fit.
        """
        with safe_open(path, framework="pt") as file:
            names = set(file.keys())
            for tensor in self.tensors:
                name = f"centre/{tensor.name}"
                if name not in names or file.get_slice(name).get_shape() != [tensor.size]:
                    missing = f"no tensor {tensor.name!r} of {tensor.size} numbers"
                    raise RunError(f"{path}: {missing}; another space or model?")
                there, here = file.get_slice(name)[:1].dtype, self.centre[tensor.name].dtype
                if there != here:
                    raise RunError(f"{path}: {tensor.name!r} is kept in {there} there and in {here} here")
            self._off.update(self._in_model)
            for tensor in self.tensors:
                values, centre = file.get_slice(f"centre/{tensor.name}"), self.centre[tensor.name]
                for start, count in spans(tensor):
                    centre[start : start + count] = values[start : start + count].to(centre.device)
            self.forget_optimiser()
            for name in sorted(names):
                kind, _, rest = name.partition("/")
                if kind == "state":
                    of, _, slot = rest.rpartition("/")
                    self.state[of][slot] = file.get_tensor(name).to(self.centre[of].device)
        self.show()


def rounded(value: Tensor, member: Perturbation, tensor: SearchTensor, start: int) -> Tensor:
    """What a range of a member becomes in bfloat16 without a master; of mirrored members, mirrored."""
    words = parts(key("member", member.seed), tensor.name, start, len(value), WORDS, value.device)
    return stochastic(value, words if member.sign > 0 else WORDS - 1 - words)


def _tensor(named: Named, scale: float) -> SearchTensor:
    row = named.tensor.shape[-1] if named.tensor.dim() > 1 else 0
    return SearchTensor(named.name, named.path, named.tensor.numel(), scale, layer=named.layer, row=row)


def _rms(tensor: Tensor) -> float:
    """Root mean square, in ranges: no fp32 copy of a large embedding."""
    squares = sum(float(part.double().square().sum()) for part in tensor.reshape(-1).split(1 << 18))
    return (squares / tensor.numel()) ** 0.5
