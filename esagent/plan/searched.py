"""How many numbers a space searches, from the sizes of the model alone."""

from __future__ import annotations

from esagent.config import names
from esagent.config.layers import parse_layers
from esagent.config.schema import Config, Rule
from esagent.models.catalog import Architecture

_LINEARS = (
    *("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    *("in_proj_qkv", "in_proj_z", "in_proj_a", "in_proj_b", "out_proj"),
)
_STATES = {Rule.plain: 0, Rule.momentum: 1, Rule.adam: 2}


def searched_numbers(config: Config, sizes: Architecture | None, modules: int) -> int | None:
    """None where they hang on an agent of the user's, or on the names of a model's parameters."""
    space = config.space
    if space.name == "skills":
        return modules * config.task.chain.size
    if sizes is None:
        return None
    if space.name in names.WEIGHT_SPACES:
        return None if space.include or space.exclude else sizes.parameters
    if not modules:
        return None
    layers = parse_layers(space.layers, sizes.layers)
    shapes = [sizes.linear(site, layer) for layer in layers for site in space.sites]
    return modules * sum(_at(config, *shape) for shape in shapes if shape)


def _at(config: Config, inputs: int, outputs: int) -> int:
    """Of one module at one linear layer of this size."""
    space = config.space
    if space.name == "core":
        return space.rank**2
    if space.name == "lora":
        return space.rank * (outputs + (inputs if space.sigma_a > 0 else 0))
    return outputs


def linear_shapes(sizes: Architecture) -> list[tuple[int, int]]:
    """(inputs, outputs) of every linear layer below the head."""
    found = (sizes.linear(name, layer) for layer in range(sizes.layers) for name in _LINEARS)
    return [shape for shape in found if shape]


def written_numbers(config: Config, numbers: int | None) -> int | None:
    """Numbers of noise that make a member of a space whose members are written into the weights; 0 for others."""
    return numbers if config.space.name == "full" else 0


def number_bytes(config: Config) -> int:
    """Of one searched number at the centre: fp32, unless the parameters' own format is kept."""
    return 4 if config.space.precision == "master" else 2


def state_bytes(config: Config) -> int:
    """What the update rule keeps for each searched number, in fp32."""
    return 4 * _STATES[config.algorithm.rule]
