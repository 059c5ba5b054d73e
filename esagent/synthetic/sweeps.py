"""What is explored beside the preregistered arms: tuning, response to credit noise, sensitivity to the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from esagent.config.schema import Config
from esagent.config.study import Study
from esagent.errors import ConfigError
from esagent.stats.response import ResponseCurve, response_curves
from esagent.stats.verdicts import Verdict, judge
from esagent.synthetic.arms import Arm, make_arm

Curves = Mapping[str, Mapping[int, float]]
"""{arm: {seed: AUC}}"""


@dataclass(frozen=True)
class Sweeps:
    """The content of a sweeps file (conf/experiment/routing/synthetic.sweeps.yml)."""

    tuning_seeds: tuple[int, ...]
    alpha: tuple[float, ...]
    sigma: tuple[float, ...]
    schemes: tuple[str, ...]
    noise: tuple[float, ...]
    settings: Mapping[str, Mapping[str, Any]]
    arms: tuple[str, ...]
    variations: Mapping[str, Mapping[str, Any]]


def load_sweeps(path: Path) -> Sweeps:
    """Raises ConfigError, one line, for a file that does not hold all of it."""
    try:
        data = yaml.safe_load(path.read_text())
        tuning, responses, sensitivity = data["tuning"], data["responses"], data["sensitivity"]
        return Sweeps(
            tuple(tuning["seeds"]),
            tuple(tuning["alpha"]),
            tuple(tuning["sigma"]),
            tuple(responses["schemes"]),
            tuple(responses["noise"]),
            responses["settings"],
            tuple(sensitivity["arms"]),
            sensitivity["variations"],
        )
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: is no file of sweeps ({type(error).__name__}: {error})") from error


def tuning_arms(sweeps: Sweeps, base: Config) -> Iterator[Arm]:
    """Uniform under every alpha and sigma, on seeds of their own."""
    for alpha in sweeps.alpha:
        for sigma in sweeps.sigma:
            own = {"algorithm.step.start": alpha, "algorithm.step.end": alpha, "sigma.start": sigma, "sigma.end": sigma}
            yield make_arm(f"{alpha:g}/{sigma:g}", base, [own], sweeps.tuning_seeds)


def response_arms(sweeps: Sweeps, base: Config, seeds: Sequence[int]) -> Iterator[Arm]:
    """Uniform, and every scheme at every noise, in every setting."""
    for setting, own in sweeps.settings.items():
        yield make_arm(f"{setting}/uniform", base, [own], seeds)
        for scheme in sweeps.schemes:
            for eta in sweeps.noise:
                routed = {"allocation.name": scheme, "credit.noise": eta}
                yield make_arm(f"{setting}/{scheme}/{eta:g}", base, [own, routed], seeds)


def responses(sweeps: Sweeps, found: Curves) -> dict[str, dict[str, ResponseCurve]]:
    """{setting: {scheme: its differences to uniform over credit noise}} of the runs of `response_arms`."""
    out = {}
    for setting in sweeps.settings:
        uniform = found[f"{setting}/uniform"]

        def lost(scheme: str, setting: str = setting, uniform: Mapping[int, float] = uniform) -> list[list[float]]:
            levels = [found[f"{setting}/{scheme}/{eta:g}"] for eta in sweeps.noise]
            return [[level[seed] - uniform[seed] for seed in uniform] for level in levels]

        out[setting] = response_curves(sweeps.noise, {scheme: lost(scheme) for scheme in sweeps.schemes})
    return out


def sensitivity_arms(sweeps: Sweeps, study: Study, base: Config) -> Iterator[Arm]:
    """The chosen arms of the study under every variation, whose settings come last."""
    for variation, own in sweeps.variations.items():
        for label in sweeps.arms:
            yield make_arm(f"{variation}/{label}", base, [study.arms[label], own], study.seeds)


def sensitivity(sweeps: Sweeps, study: Study, found: Curves) -> dict[str, tuple[tuple[Verdict, ...], float]]:
    """{variation: (verdicts, mean AUC of uniform)}.

    Each of the hypotheses whose arms are all varied is judged by itself, without a correction over the others: the
    question is where the environment agrees, not whether any of them does.
    """
    known = [h for h in study.hypotheses if {*h.arms, h.against} <= set(sweeps.arms)]
    alone = replace(study, hypotheses=tuple(replace(h, family=h.id) for h in known))
    out = {}
    for variation in sweeps.variations:
        values = {label: found[f"{variation}/{label}"] for label in sweeps.arms}
        uniform = float(np.mean(list(values[study.baseline].values())))
        out[variation] = judge(alone, {study.metric: values}), uniform
    return out
