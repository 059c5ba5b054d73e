"""Where Typer meets Hydra: the only file of the command line that knows Hydra.

A single run needs Hydra's composition alone. A sweep needs its grid and its launcher as well. Every job is then a
command `esagent train <overrides>` in a process of its own, which leaks no device state, survives any launcher, and
keeps one failing job from stopping the rest.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hydra._internal.callbacks import Callbacks
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf

from esagent.config.compose import CONFIG_NAME, compose, engine, screen_overrides
from esagent.config.overrides import quoted
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.sweep.devices import CPU, visible_devices
from esagent.sweep.folder import SweepFolder
from esagent.sweep.supervise import supervise

__all__ = ["Grid", "compose", "expand", "launch"]

_EXTRAS = {"hydra_joblib_launcher": "joblib", "hydra_submitit_launcher": "slurm"}


@dataclass(frozen=True)
class Grid:
    """A sweep before it runs.

    jobs: the overrides of each, as Hydra takes them. base: those that the launcher is composed from. folder: where the
    sweep keeps its logs. devices: what its launcher hands out, one job each; empty when it leaves that to others.
    """

    jobs: list[list[str]]
    base: list[str]
    folder: Path
    devices: list[str]


def expand(overrides: Sequence[str], config_dir: Path | None) -> Grid:
    """Every combination of the swept overrides, and of those that `hydra.sweeper.params` of an experiment holds.

    Raises ConfigError with every mistake in them, EnvironmentFailure when the launcher is not installed.
    """
    with engine(config_dir) as hydra:
        accepted, own = _screened(hydra, overrides)
        composed = _composed(hydra, [*accepted, *own])
        if not str(composed.hydra.sweeper.get("_target_", "")).endswith(".BasicSweeper"):
            raise ConfigError("hydra/sweeper: a sweep runs a fixed grid, which hydra/sweeper=basic lays out")
        params = [f"{key}={value}" for key, value in (composed.hydra.sweeper.params or {}).items()]
        swept, _ = _screened(hydra, params)
        parsed = OverridesParser.create(config_loader=hydra.config_loader).parse_overrides([*swept, *accepted])
        (jobs,) = BasicSweeper.split_arguments(parsed, None)
        return Grid(jobs, [*accepted, *own], Path(str(composed.hydra.sweep.dir)), _devices(_launcher(composed)))


def launch(folder: SweepFolder) -> None:
    """Give the jobs of the folder's plan to the launcher it names, and wait for them.

    Raises what the launcher does when it cannot go on; a job that fails is none of that.
    """
    plan = json.loads(folder.plan.read_text())
    here = f"hydra.sweep.dir={quoted(str(folder.path.resolve()))}"
    with engine(plan["config_dir"]) as hydra:
        composed = _composed(hydra, [*plan["base"], here])
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(composed)),
            task_function=partial(_job, str(folder.path.resolve())),
            config=composed,
        )
        for job in launcher.launch([job["hydra"] for job in plan["jobs"]], initial_job_idx=0):
            _ = job.return_value  # raises what the supervision of the job raised


def _job(folder: str, _: DictConfig) -> None:
    """What the launcher calls, in whatever process, for each job."""
    supervise(SweepFolder(Path(folder)), HydraConfig.get().job.num)


def _screened(hydra: Hydra, overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides of esagent's settings as Hydra takes them, and those of Hydra's own."""
    screened = screen_overrides(hydra, overrides, multirun=True)
    if screened.problems:
        raise ConfigError(*screened.problems)
    return [item for item in screened.accepted if item not in screened.foreign], screened.foreign


def _composed(hydra: Hydra, overrides: list[str]) -> DictConfig:
    # For launchers that run a number of jobs at a time.
    OmegaConf.register_new_resolver("one_per_gpu", lambda: max(1, len(visible_devices())), replace=True)
    return hydra.compose_config(CONFIG_NAME, overrides, RunMode.MULTIRUN, with_log_configuration=False)


def _launcher(composed: DictConfig) -> str:
    """Class of the launcher. Raises EnvironmentFailure when it is not installed."""
    target = str(composed.hydra.launcher.get("_target_", ""))
    package, _, rest = target.partition(".")
    plugin = rest.partition(".")[0]
    if package == "hydra_plugins" and (
        importlib.util.find_spec(package) is None or importlib.util.find_spec(f"{package}.{plugin}") is None
    ):
        name = plugin.replace("_", "-")
        wanted = f"esagent[{_EXTRAS[plugin]}]" if plugin in _EXTRAS else name
        raise EnvironmentFailure(f"hydra/launcher: {name} is not installed; try: pip install '{wanted}'")
    return target


def _devices(launcher: str) -> list[str]:
    """What is handed out: nothing where a cluster does it; where all jobs start at once, at least the one machine."""
    if launcher.endswith(".SlurmLauncher"):
        return []
    return visible_devices() or ([CPU] if launcher.endswith(".LocalLauncher") else [])
