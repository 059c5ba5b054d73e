"""The modules of a chain as searched numbers: where their optimum lies, and how far they are from it at the start."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

import numpy as np

from esagent.config.schema import ChainConfig
from esagent.core.chain import Floats, start_distance
from esagent.core.noise import gaussian, key
from esagent.spaces.tensors import SearchTensor


@dataclass(frozen=True)
class Skill:
    """One module. optimum: float64 [size], from the start (all zeros) as far away as the skill there (`start`) says."""

    tensor: SearchTensor
    optimum: Floats
    start: float
    ceiling: float
    width: float


def make_skills(chain: ChainConfig) -> dict[str, Skill]:
    """By module, in the order of the chain. The direction of an optimum depends on the module's name alone."""
    return {name: _skill(name, chain) for name in chain.modules}


def skills_hash(chain: ChainConfig) -> str:
    """SHA-256 over all that the modules are: what weights are to a language model."""
    return hashlib.sha256(json.dumps(asdict(chain), sort_keys=True).encode()).hexdigest()


def _skill(name: str, chain: ChainConfig) -> Skill:
    tensor = SearchTensor(weight="skill", site="skill", size=chain.size, scale=1.0, owner=name)
    direction = gaussian(key("optimum"), tensor.name, 0, chain.size).numpy().astype(np.float64)
    start, width = chain.start[name], chain.width.get(name, 1.0)
    distance = start_distance(start, chain.ceiling, width)
    return Skill(tensor, distance * direction / np.sqrt(np.square(direction).sum()), start, chain.ceiling, width)
