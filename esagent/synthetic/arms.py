"""The arms of a study as configurations, run on several processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from omegaconf import OmegaConf

from esagent.config.check import check
from esagent.config.export import from_dict, to_dict
from esagent.config.schema import Config
from esagent.config.study import Study
from esagent.errors import ConfigError
from esagent.synthetic.many import SyntheticRun, run_many
from esagent.synthetic.memory import Memory

Settings = Mapping[str, Any]
"""{dotted setting: value}"""

_OF_ROUTING = ("allocation.", "credit.", "algorithm.control")


@dataclass(frozen=True)
class Arm:
    """One configuration on all of its seeds."""

    label: str
    config: Config
    seeds: tuple[int, ...]


def make_arm(label: str, base: Config, settings: Sequence[Settings], seeds: Sequence[int]) -> Arm:
    """`base` with `settings` put in, later ones over earlier ones.

    Raises ConfigError, one line a problem with the arm's label, for settings that do not fit together.
    """
    made = OmegaConf.create(to_dict(base))
    for own in settings:
        for path, value in own.items():
            OmegaConf.update(made, path, value, merge=False, force_add=True)
    try:
        config = from_dict(OmegaConf.to_container(made))  # type: ignore[arg-type]
        check(config)
    except ConfigError as error:
        raise ConfigError(*(f"arm {label}: {problem}" for problem in error.problems)) from error
    return Arm(label, config, tuple(seeds))


def baseline_of(study: Study, label: str) -> str:
    """The arm that differs from `label` in routing alone (allocation, credit, control) and spends uniformly.

    Raises ConfigError when there is none.
    """
    wanted = _apart(study.arms[label])
    for other, settings in study.arms.items():
        plain = settings.get("allocation.name") == "uniform" and settings.get("algorithm.control", "none") == "none"
        if plain and _apart(settings) == wanted:
            return other
    raise ConfigError(f"arms.{label}: no arm of the study has its settings with allocation.name=uniform")


def run_arms(arms: Sequence[Arm], workers: int) -> Iterator[tuple[str, list[SyntheticRun]]]:
    """(label, runs) of every arm, in order. Each worker is a process with one thread and its own memory of draws."""
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start) as pool:
        yield from zip((arm.label for arm in arms), pool.map(_run, arms), strict=True)


def _apart(settings: Settings) -> dict[str, Any]:
    return {path: value for path, value in settings.items() if not path.startswith(_OF_ROUTING)}


_memory = Memory()


def _start() -> None:
    import torch

    torch.set_num_threads(1)


def _run(arm: Arm) -> list[SyntheticRun]:
    return run_many(arm.config, arm.seeds, _memory)
