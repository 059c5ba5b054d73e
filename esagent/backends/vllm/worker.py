"""What runs inside a worker of vLLM: it holds the weights, adapters and vectors that members differ by.

vLLM mixes `SearchWorker` into its own worker class. All calls from outside go through its one method to a `Station`,
which is made at the first of them.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from esagent.backends.vllm import cache, plain
from esagent.backends.vllm.adapters import Factors, install_adapters
from esagent.backends.vllm.layout import band_of, stacked
from esagent.backends.vllm.members import Held, Members
from esagent.backends.vllm.steering import Steering
from esagent.core.population import Perturbation
from esagent.spaces.forms import NoiseForm
from esagent.spaces.partitions import Partition
from esagent.spaces.tensors import SearchTensor

plain.install()  # before vLLM loads the model: this module is imported when a worker is made

Target = tuple[SearchTensor, tuple[int, ...], tuple[str, ...]]
"""A searched tensor, its shape, and all names that it has in the Hugging Face model."""


class SearchWorker:
    """Mixed into vLLM's worker."""

    model_runner: Any

    def esagent(self, method: str, *arguments: Any) -> Any:
        """Call `method` of this worker's station."""
        found = self.__dict__.get("_esagent_station")
        if found is None:
            found = self.__dict__["_esagent_station"] = Station(self.model_runner)
        return getattr(found, method)(*arguments)

    def esagent_pickled(self, call: bytes) -> Any:
        """The same, from another process: (method, arguments), pickled."""
        method, arguments = pickle.loads(call)
        return self.esagent(method, *arguments)


def keep_finite(model: nn.Module) -> None:
    """Let no key or value that is not finite into the cache.

    A block goes from one request to the next as it is, and attention multiplies what it masks by 0, which makes NaN of
    NaN: a member whose states overflow would break whoever gets its blocks. Its own logits stay what they are.
    """

    def clean(_: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Of (query, key, value, ...), the second and the third."""
        return (*given[:1], *(part.nan_to_num(0.0, 0.0, 0.0) for part in given[1:3]), *given[3:])

    for module in model.modules():
        if type(module).__name__ == "Attention":
            module.register_forward_pre_hook(clean)


class Station:
    """One worker's part of the population."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self._model: nn.Module = runner.get_model()
        self._stacks: Mapping[str, Sequence[str]] = getattr(self._model, "packed_modules_mapping", {})
        self._factors: dict[int, Factors] = {}
        self._steering: Steering | None = None
        self._members: Members | None = None
        cache.install()
        keep_finite(self._model)

    def adapt(self, sites: Mapping[str, tuple[int, int]]) -> list[str]:
        """Members are adapters at `sites` ({path: shape of the weight}). Returns what is in the way, by name."""
        problems = []
        for path, shape in sites.items():
            module, _ = self._layer(f"{path}.weight")
            if module is None:
                problems.append(f"vLLM's model has no layer for {path}")
            elif not hasattr(self._wrapper(path), "lora_a_stacked"):
                problems.append(f"vLLM puts no adapter on {path} {list(shape)}")
        if not problems:
            install_adapters(self._runner, self._factors)
        return problems

    def steer(self, sites: Mapping[str, int]) -> list[str]:
        """Members are vectors on the outputs of `sites` ({path: width}). Returns what is in the way, by name."""
        found = {}
        for path, width in sites.items():
            module, part = self._layer(f"{path}.weight")
            if module is None:
                return [f"vLLM's model has no layer for {path}"]
            found[path] = (module, band_of(module, part, (width,)))
        self._steering = Steering(self._runner, found)
        return []

    def search(self, targets: Sequence[Target], partition: Partition, form: NoiseForm) -> list[str]:
        """Members are written into the weights. Returns the searched parameters that are out of reach, by name."""
        held, problems, seen = [], [], set()
        for tensor, shape, names in targets:
            for name in names:
                module, part = self._layer(name)
                parameter = getattr(module, name.rpartition(".")[2], None)
                if parameter is None:
                    problems.append(f"vLLM's model has no parameter for {name}")
                    continue
                if (parameter.data_ptr(), part) in seen and parameter.numel():
                    continue  # tied
                band = band_of(module, part, shape)
                height, width = band.height, band.columns and band.columns[1] - band.columns[0]
                want = (height,) if width is None else (height, width)
                target = parameter.data[band.place : band.place + height]
                if parameter.numel() == 0:
                    problems.append(f"{name}: vLLM holds an empty tensor; its kernels read a copy of their own")
                elif not plain.reads_the_weight(module):
                    problems.append(f"{name}: vLLM's kernels read a copy of their own, not the parameter")
                elif tuple(target.shape) != want:
                    problems.append(f"{name}: vLLM holds {list(target.shape)}, expected {list(want)}")
                else:
                    seen.add((parameter.data_ptr(), part))
                    held.append(Held(tensor, shape, band, target))
        if not problems:
            self._members = Members(held, partition, form)
        return problems

    def add(self, factors: Mapping[int, Factors]) -> None:
        """New versions of adapters, by number."""
        self._factors.update(factors)

    def add_vectors(self, vectors: Mapping[int, Mapping[str, Tensor]]) -> None:
        """New versions of vectors, by number and site."""
        if self._steering:
            self._steering.add(vectors)

    def forget(self) -> None:
        """No version will be asked for again."""
        self._factors.clear()
        if self._steering:
            self._steering.forget()
        if getattr(self._runner, "lora_config", None):
            self._runner.lora_manager.remove_all_adapters()

    def move(self, centre: Mapping[str, Tensor]) -> None:
        """The searched weights have a new centre."""
        if self._members:
            self._members.move(centre)

    def show(self, member: Perturbation | None) -> None:
        """Make the weights those of a member, or the centre."""
        if self._members:
            self._members.show(member)

    def _wrapper(self, path: str) -> Any:
        """vLLM's layer for the site `path`, with what it is wrapped in; None where there is none."""
        found, _, _ = stacked(f"{path}.weight", self._stacks)
        try:
            return self._model.get_submodule(found)
        except AttributeError:
            return None

    def _layer(self, name: str) -> tuple[Any, int | None]:
        """vLLM's layer of the Hugging Face parameter `name`, unwrapped, and its part of a stack."""
        part = stacked(name, self._stacks)[2]
        module = self._wrapper(name.rpartition(".")[0])
        return getattr(module, "base_layer", module), part
