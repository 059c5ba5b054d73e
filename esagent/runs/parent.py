"""`init=RUN`: a run that starts from a state of another one, its parent, instead of the base model.

Only the searched parameters are taken over; the optimiser starts anew. State 0 of the new run, its base in every
comparison, is that state of the parent. It is kept as the first snapshot, so that the run can be resumed when the
parent is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from esagent.config.layers import parse_layers
from esagent.config.names import WEIGHT_SPACES
from esagent.config.schema import Config, SpaceConfig
from esagent.errors import ConfigError
from esagent.runs.directory import RunDirectory
from esagent.runs.find import find_run
from esagent.runs.identity import Identity
from esagent.runs.resume import Replayable
from esagent.runs.snapshots import newest_verified
from esagent.runs.states import State, find_state

_log = logging.getLogger(__name__)
_OWN = {"core": ("rank", "init"), "lora": ("rank",), "lowrank": ("vectors",)}
"""By space, the settings of its own that its tensors depend on."""


class Startable(Replayable, Protocol):
    """The part of a backend that a start from another run uses."""

    def forget_optimiser(self) -> None: ...


@dataclass(frozen=True)
class Start:
    """Where a run started: state `state` of the run in the folder `run`; `digest` is the parent's there."""

    run: str
    state: int
    digest: str


def parent_problems(config: Config, depth: int | None) -> Iterator[str]:
    """One line for everything that keeps `config.init` from being the parent, as far as settings tell.

    depth: number of layers of the model, None when it is not known yet.
    """
    if config.init is None:
        if config.init_state != "best":
            yield f"init_state={config.init_state}: is a state of another run; name it with init=RUN"
        return
    try:
        state = find_state(find_run(config.init, config.runs_dir), config.init_state)
    except ConfigError as error:
        yield from (f"init={config.init}: {problem}" for problem in error.problems)
        return
    for name, there, here in _differences(state.config.space, config.space, depth):
        yield f"init={config.init}: {name} is {there} there and {here} here; the same space is needed"


def pinned(config: Config) -> Config:
    """`config` with the parent's folder and the number of the state in place of names that may come to mean others.

    A run keeps its configuration so, and whoever looks for the run of a configuration must too. Raises ConfigError, one
    line, when there is no such state.
    """
    if config.init is None:
        return config
    return _at(config, find_state(find_run(config.init, config.runs_dir), config.init_state))


def begin(config: Config, backend: Startable, model_hash: str) -> tuple[Config, Start | None]:
    """Put `backend` into the state that a new run of `config` starts from, the base model unless `init` is set.

    Returns the configuration, pinned, and the start. Raises ConfigError, one line, when model or space are not the
    parent's.
    """
    if config.init is None:
        return config, None
    state = find_state(find_run(config.init, config.runs_dir), config.init_state)
    if state.manifest.get("model_hash") != model_hash:
        raise ConfigError(
            f"init={config.init}: was trained on other weights (model {state.config.model.name}) than those of "
            f"model={config.model.name}"
        )
    try:
        digest = state.bring(backend)
    except ConfigError as error:
        raise ConfigError(f"init={config.init}: {error}") from error
    backend.forget_optimiser()
    found = _at(config, state)
    return found, Start(str(found.init), state.step, digest)


def begin_again(run: RunDirectory, config: Config, backend: Startable, model_hash: str, start: Identity) -> None:
    """Where the stopped `run` holds no sound snapshot of its start, bring `backend` there from the parent again.

    Whoever takes the run up then compares digests: the parent may have become another. Raises as `begin` does.
    """
    if config.init is None or newest_verified(run.snapshots, at_most=0, seal=start.seal) is not None:
        return
    _log.warning("%s: no sound snapshot of the start, so it is taken from %s again", run.path, config.init)
    begin(config, backend, model_hash)


def _at(config: Config, state: State) -> Config:
    return replace(config, init=str(state.run.path.resolve()), init_state=str(state.step))


def _differences(there: SpaceConfig, here: SpaceConfig, depth: int | None) -> Iterator[tuple[str, object, object]]:
    """Name and both values of every setting that has to be the same and is not."""
    weights = here.name in WEIGHT_SPACES
    own = [*_OWN.get(here.name, ()), *(["scale", "precision"] if weights else [])]
    for name in ["name", "positions", *own]:
        before, now = getattr(there, name), getattr(here, name)
        if before != now:
            yield f"space.{name}", getattr(before, "value", before), getattr(now, "value", now)
    if here.name == "lora" and (there.sigma_a > 0) != (here.sigma_a > 0):  # A is searched in one of them alone
        yield "space.sigma_a", there.sigma_a, here.sigma_a
    for name in ("sites", "modules", *(["include", "exclude"] if weights else [])):
        before, now = getattr(there, name), getattr(here, name)
        if sorted(before) != sorted(now):
            yield f"space.{name}", f"[{','.join(before)}]", f"[{','.join(now)}]"
    if there.layers != here.layers and _layers(there, depth) != _layers(here, depth):
        yield "space.layers", there.layers, here.layers


def _layers(space: SpaceConfig, depth: int | None) -> object:
    try:
        return parse_layers(space.layers, depth) if depth is not None else space.layers
    except ConfigError:  # of the new run: told where its layers are checked; of the parent: another model
        return space.layers
