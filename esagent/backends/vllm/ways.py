"""How the members of a space run on vLLM: three ways, of which every space takes one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any

from esagent.backends.vllm.adapters import Factors
from esagent.core.population import Perturbation
from esagent.spaces.base import AdapterSpace, Space
from esagent.spaces.bias import BiasSpace
from esagent.spaces.lowrank import LowRankSpace
from esagent.spaces.tensors import Setting

_log = logging.getLogger(__name__)


class Way(Enum):
    """adapters: LoRA slots, one batch. vectors: added token by token in the worker, one batch. written: into the
    weights, one member after the other."""

    adapters = "adapters"
    vectors = "vectors"
    written = "written"


def way_of(space: Space) -> Way:
    """The way of a space. Where members run one after the other though other backends take them in one batch, a line
    says so."""
    if isinstance(space, BiasSpace):
        return Way.vectors
    if isinstance(space, LowRankSpace):
        if not space.others:
            return Way.adapters
        listed = ", ".join(space.others[:3]) + (", ..." if len(space.others) > 3 else "")
        _log.warning(
            "backend=vllm: no LoRA slot holds noise on %s; members run one after the other (one batch takes "
            "space.vectors=none space.include=[_proj])",
            listed,
        )
        return Way.written
    return Way.adapters if isinstance(space, AdapterSpace) else Way.written


def adapter_sites(space: Space) -> dict[str, tuple[int, int]]:
    """{path: shape of the weight} of all layers that may carry an adapter."""
    return {site.path: tuple(site.module.weight.shape) for site in space.sites}


def adapter_rank(space: Any) -> int:
    """The rank of every adapter of a space."""
    return int(space.rank)


def fused(sites: Mapping[str, Any]) -> tuple[str, ...]:
    """Last parts of the paths of the layers that hold `sites` in vLLM, which fuses some of them."""
    into = dict.fromkeys(("q_proj", "k_proj", "v_proj"), "qkv_proj") | dict.fromkeys(
        ("gate_proj", "up_proj"), "gate_up_proj"
    )
    last = (path.rpartition(".")[2] for path in sites)
    return tuple(dict.fromkeys(into.get(kind, kind) for kind in last))


def factors_of(space: Any, setting: Setting) -> Factors:
    """What a setting adds to the weights that the engine holds; empty for nothing."""
    if isinstance(space, LowRankSpace):
        return space.factors(setting.perturbation) if setting.perturbation else {}
    values = space.parameters.values(setting.module, setting.perturbation)
    return {path: (down, up) for path, (down, up) in space.low_rank(values).items() if bool(up.any())}


def vectors_of(space: Any, module: str, perturbation: Perturbation | None) -> dict[str, Any]:
    """{path: vector} of the sites where it is not zero."""
    _, vectors = space.dense(space.parameters.values(module, perturbation))
    return {path: vector for path, vector in vectors.items() if bool(vector.any())}
