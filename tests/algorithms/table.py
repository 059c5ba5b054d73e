"""Every preset and every option of the search, as configurations of one small search: the next one is one more line.

Two modules of unequal size (see `world`), sigma 0.1. Presets come from conf/ as they are shipped; only sigma,
directions and step sizes are set to what the small search needs.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from esagent.config.compose import compose
from esagent.config.schema import (
    Config,
    Normalise,
    Rule,
    ScheduleConfig,
    ScheduleKind,
    Shaping,
    StepFactor,
    StepFollows,
    UpdateNorm,
)

SIGMA = 0.1
DIRECTIONS = 6

PRESETS = ("es", "es_at_scale", "eggroll", "copes", "agentic_esopt", "mezo")

OPTIONS: dict[str, dict[str, Any]] = {
    "joint": {"allocation": "joint"},
    "zscore": {"shaping": Shaping.zscore, "normalise": Normalise.none, "step": 1.5},
    "block_zscore": {"shaping": Shaping.block_zscore, "normalise": Normalise.none, "step": 1.5},
    "ranks": {"shaping": Shaping.ranks, "normalise": Normalise.none, "step": 5.0},
    "group": {"shaping": Shaping.group, "normalise": Normalise.none, "step": 2.0},
    "one-sided": {"antithetic": False, "shaping": Shaping.zscore, "allocation": "joint"},
    "total-norm": {"update_norm": UpdateNorm.total, "normalise": Normalise.none, "step": 10.0},
    "normalise-total": {"normalise": Normalise.total},
    "raw": {"normalise": Normalise.none, "step": 10.0},
    "gradient": {"normalise": Normalise.none, "divide_by_sigma": True, "step": 1.0},
    "momentum": {"rule": Rule.momentum, "momentum": 0.5},
    "adam": {"rule": Rule.adam, "beta1": 0.5, "beta2": 0.9, "normalise": Normalise.none, "step": 0.4},
    "pull": {"pull": 1.0},
    "absolute-step": {"step_follows": StepFollows.none, "step": 0.04},
    "sqrt-members": {"step_factor": StepFactor.sqrt_members, "step": 0.1},
    "sqrt-blocks": {"step_factor": StepFactor.sqrt_blocks, "step": 0.3},
    "by-size": {"by_size": True},
    "random-parts": {"partition": "random", "parts": 3},
    "fixed-parts": {"partition": "random", "parts": 2, "redraw": False},
    "one-block": {"partition": "whole"},
}
"""By name, what differs from `es`."""

STEPS = {"es": 0.4, "es_at_scale": 0.15, "eggroll": 0.15, "copes": 0.1, "agentic_esopt": 0.15, "mezo": 0.05}
"""Step sizes of the presets for the small search, as `algorithm.step.start`."""

NAMES = (*PRESETS, *OPTIONS)


@functools.cache
def settings(name: str) -> Config:
    """The small search under the preset or option `name`."""
    if name in PRESETS:
        return _small(compose([f"algorithm={name}"]), STEPS[name])
    changes = dict(OPTIONS[name])
    config = _small(compose(["algorithm=es"]), changes.pop("step", STEPS["es"]))
    space = {key: changes.pop(key) for key in ("partition", "parts", "redraw") if key in changes}
    config.space = replace(config.space, **space)
    config.allocation = replace(config.allocation, name=changes.pop("allocation", config.allocation.name))
    config.sigma = replace(config.sigma, by_size=changes.pop("by_size", False))
    config.algorithm = replace(config.algorithm, **changes)
    return config


def _small(config: Config, step: float) -> Config:
    algorithm = config.algorithm
    directions = algorithm.directions if algorithm.name == "mezo" else 2 * DIRECTIONS
    if algorithm.antithetic and algorithm.name != "mezo":
        directions = DIRECTIONS
    return replace(
        config,
        algorithm=replace(algorithm, directions=directions, step=ScheduleConfig(ScheduleKind.constant, step, step)),
        sigma=replace(config.sigma, start=SIGMA, end=SIGMA, modules={}),
    )
