"""From `conf/` and overrides to one typed, checked `Config`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose as hydra_compose
from hydra import version
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.errors import HydraException, MissingConfigException
from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from yaml import YAMLError

from esagent.config.check import check
from esagent.config.files import user_path
from esagent.config.nearest import suggest
from esagent.config.overrides import Screened, one_line, screen
from esagent.config.schema import Config
from esagent.errors import ConfigError

CONFIG_NAME = "config"

_UNUSABLE = (HydraException, OmegaConfBaseException, YAMLError)
"""What Hydra raises for settings and configuration files that are wrong."""

_MALFORMED = (OSError, ValueError, TypeError, AttributeError, KeyError, AssertionError, RecursionError)
"""What else it raises for files that do not even have the form of a configuration, of which none ships."""


@contextmanager
def engine(config_dir: str | Path | None = None) -> Iterator[Hydra]:
    """Hydra set up over the shipped `conf/` and, before it, the user's own folder of groups.

    Leaves the global Hydra as empty as it needs to be for the next call. Hydra's errors come out as ConfigError.
    """
    ConfigStore.instance().store(name="esagent_schema", node=Config, provider="esagent")
    search_path = create_config_search_path("pkg://esagent.conf")
    if config_dir is not None:
        search_path.prepend("command-line", f"file://{user_path(config_dir).resolve()}", "main")
    version.setbase("1.3")
    GlobalHydra.instance().clear()
    # Hydra holds a launcher of ours to the plugin's schema of the same name, and says that this is an old way.
    warnings.filterwarnings("ignore", message=r"\s*'hydra/launcher/\w+' is validated against ConfigStore schema")
    try:
        yield Hydra.create_main_hydra2(task_name="esagent", config_search_path=search_path)
    except _UNUSABLE as error:
        raise ConfigError(explain(error)) from error
    except _MALFORMED as error:
        if config_dir is None:
            raise
        reason = f"{type(error).__name__}: {one_line(str(error))}"
        raise ConfigError(f"--config-dir {config_dir}: a file in it is no configuration ({reason})") from error
    finally:
        GlobalHydra.instance().clear()


def screen_overrides(hydra: Hydra, overrides: Sequence[str], *, multirun: bool = False) -> Screened:
    """The overrides as Hydra shall see them, and what is wrong with the others."""

    def options(group: str) -> list[str]:
        return list(group_options(hydra, group))

    screened = screen(overrides, options, multirun=multirun)
    if screened.foreign:
        try:
            hydra_compose(CONFIG_NAME, overrides=screened.foreign)
        # Hydra does not check its own settings as it checks others: any of these may come out of a wrong one.
        except (*_UNUSABLE, ValueError, TypeError, AttributeError, KeyError) as error:
            given, reason = " ".join(screened.foreign), explain(error)
            screened.problems.append(reason if reason.startswith(given) else f"{given}: {reason}")
            screened.accepted = [item for item in screened.accepted if item not in screened.foreign]
    return screened


def group_options(hydra: Hydra, group: str) -> Iterator[str]:
    """What `group` can be set to; an option in a folder of its own by its path, as in routing/synthetic."""
    yield from hydra.config_loader.get_group_options(group, ObjectType.CONFIG)
    for folder in hydra.config_loader.get_group_options(group, ObjectType.GROUP):
        yield from (f"{folder}/{option}" for option in group_options(hydra, f"{group}/{folder}"))


def compose(overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> Config:
    """The checked configuration.

    Raises ConfigError with every problem found: keys, options, types, ranges and contradictions. A problem in one
    override does not hide those in the others: what can be composed is composed and checked.
    """
    with engine(config_dir) as hydra:
        screened = screen_overrides(hydra, overrides)
        problems = list(screened.problems)
        try:
            config: Any = OmegaConf.to_object(hydra_compose(CONFIG_NAME, overrides=screened.accepted))
            if not isinstance(config, Config):
                raise ConfigError(f"{CONFIG_NAME}.yaml does not start from esagent_schema in its defaults list")
            check(config)
        except _UNUSABLE as error:
            problems.append(explain(error))
        except ConfigError as error:
            problems += error.problems
        if problems:
            raise ConfigError(*problems)
        checked: Config = config
        return checked


def explain(error: Exception) -> str:
    """One line for an error of Hydra or OmegaConf: what, where, and the nearest choice."""
    if isinstance(error, MissingConfigException) and error.options is not None:
        group, _, option = str(error.missing_cfg_file).rpartition("/")
        return f"{group}={option}: not an option of {group}; {suggest(option, list(error.options))}"
    if isinstance(error, YAMLError):
        return " ".join(str(error).split())
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    where = re.search(r"full_key: *(\S+)", str(cause))
    if isinstance(cause, MissingMandatoryValue) and where:
        return f"{where[1]}: has no value and needs one; write {where[1]}=..."
    file = re.match(r"In '(.+)': \w+ raised while composing config:\s+", str(cause))
    if file:
        key = f"{where[1]}: " if where else ""
        return f"{key}{one_line(str(cause)[file.end() :])} (in {file[1]}.yaml)"
    reason = one_line(str(cause))
    if isinstance(cause, OmegaConfBaseException) and where and where[1] not in reason:
        return f"{where[1]}: {reason}"
    outer = one_line(str(error))
    return reason if cause is error or reason in outer else f"{outer} ({reason})"
