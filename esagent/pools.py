"""The fixed pools of a run, proven disjoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from esagent.config.schema import TaskConfig
from esagent.config.target import said
from esagent.core.episode import Task
from esagent.errors import ConfigError, EsagentError, RunError
from esagent.runs.jsonio import plain
from esagent.stopping import Told
from esagent.tasks.base import Split, TaskFamily


@dataclass(frozen=True)
class Pools:
    """Tasks to train on, to choose a state by, and to report on."""

    pool: tuple[Task, ...]
    validation: tuple[Task, ...]
    heldout: tuple[Task, ...]


def make_pools(family: TaskFamily, config: TaskConfig, seed: int) -> Pools:
    """The pools of run `seed`. Raises RunError when two of them share a task's content, naming one such task.

    What a family gives that it must not is a ConfigError (`take`).
    """
    pools = Pools(
        take(family, "train", seed, config.pool),
        take(family, "validation", seed, config.validation),
        take(family, "heldout", seed, config.heldout),
    )
    _check_disjoint(pools)
    return pools


def take(family: TaskFamily, split: Split, seed: int, n: int) -> tuple[Task, ...]:
    """The first `n` tasks of a split, held to what a family promises: a user's own may not keep it.

    Raises ConfigError, one line, when the family raises, gives another number of them, or gives what is no task, two of
    one id, or a task that cannot be written down.
    """
    call = f"task: {family.name}.tasks({split!r}, {seed}, {n})"
    try:
        found = tuple(family.tasks(split, seed, n))
    except (EsagentError, Told):
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{call} fails: {said(error)}") from error
    problem = next(_problems(found, n), None)
    if problem:
        raise ConfigError(f"{call} {problem}")
    return found


def _problems(tasks: Sequence[Task], n: int) -> Iterator[str]:
    if len(tasks) != n:
        yield f"gives {len(tasks)} tasks"
    seen = set()
    for place, task in enumerate(tasks):
        if not isinstance(task, Task):
            yield f"gives a {type(task).__name__} in place {place}, not a Task"
            return
        for name in ("id", "family", "split", "prompt"):
            if not isinstance(getattr(task, name), str):
                kind = type(getattr(task, name)).__name__
                yield f"gives a task in place {place} whose {name} is a {kind}, not a text"
        if task.id in seen:
            yield f"gives two tasks of the id {task.id!r}"
        seen.add(task.id)
        try:
            task.prompt.encode()
        except UnicodeEncodeError:
            yield f"gives a task ({task.id}) whose prompt holds half of a surrogate pair, which no model can read"
        try:
            plain(task.payload)
        except TypeError as error:
            yield f"gives a task ({task.id}) whose payload cannot be kept: {error}"


def _check_disjoint(pools: Pools) -> None:
    owner: dict[str, tuple[str, str]] = {}
    for split in ("pool", "validation", "heldout"):
        for task in getattr(pools, split):
            other, id_there = owner.setdefault(task.content_hash, (split, task.id))
            if other != split:
                raise RunError(
                    f"task {task.id!r} of {split} is also in {other} (as {id_there!r}); pools must not overlap"
                )
