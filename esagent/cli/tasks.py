"""`esagent ls tasks` and `esagent show task=FAMILY`: the families of tasks, and what their tasks look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from esagent.cli.output import only_data, print_json, to_terminal

KEYWORD = "tasks"
"""What `ls` takes for the families; a folder of that name is ./tasks."""

SHOWN = 3
MOST = 1000


def list_families(*, as_json: bool) -> None:
    """Every family that ships: splits, levels, source, licence, whether its data are there."""
    from esagent.report.families import families_table, family_rows
    from esagent.tasks.registry import FAMILIES

    rows = family_rows(FAMILIES)
    if as_json:
        print_json({"families": rows})
    else:
        to_terminal(families_table(rows))


def means_tasks(what: Sequence[str]) -> bool:
    """Whether the arguments of `show` ask for tasks of a family rather than for a run."""
    return any(text.startswith(("task=", "task.")) for text in what)


def show_tasks(what: Sequence[str], split: str | None, n: int | None, *, as_json: bool) -> None:
    """The first tasks of a family with their gold. what: settings of the task group, `seed`, and `split` and `n`.

    Raises ConfigError with a line per mistake.
    """
    from esagent.config.compose import compose
    from esagent.errors import ConfigError

    overrides, split, n = _sort(what, split, n)
    # Whether an agent has turns enough for them is no matter here.
    config = compose(["agent.max_turns=10", *overrides])
    with only_data():
        from esagent.pools import take
        from esagent.report.families import described, render_tasks
        from esagent.tasks.registry import make_family

        family = make_family(config.task)
        tasks = take(family, split, config.seed, n)  # type: ignore[arg-type]
        try:
            shown: list[dict[str, Any]] = [described(task, family.gold(task)) for task in tasks]
        except Exception as error:
            if config.task.target is None:
                raise
            from esagent.config.target import said

            raise ConfigError(f"task: {family.name}.gold fails: {said(error)}") from error
    facts = {"family": family.name, "split": split, "seed": config.seed, "tasks": shown}
    if as_json:
        print_json(facts)
    else:
        to_terminal(*render_tasks(facts))


def _sort(what: Sequence[str], split: str | None, n: int | None) -> tuple[list[str], str, int]:
    """Overrides, split and number. Raises ConfigError."""
    from esagent.config.names import SPLIT_NAMES, TASK_SPLITS
    from esagent.config.nearest import suggest
    from esagent.errors import ConfigError

    overrides, problems = [], []
    given = {"split": split or "train", "n": str(SHOWN if n is None else n)}
    for text in what:
        key, equals, value = text.partition("=")
        if equals and key in given:
            given[key] = value
        elif key == "seed" or key.partition(".")[0] == "task":
            overrides.append(text)
        else:
            problems.append(f"{text}: of tasks are shown task, task.*, seed, split and n; a run is shown by itself")
    chosen = {"pool": "train", **SPLIT_NAMES}.get(given["split"], given["split"])
    if chosen not in TASK_SPLITS:
        problems.append(f"split={chosen}: {suggest(chosen, (*TASK_SPLITS, *SPLIT_NAMES))}")
    if not (given["n"].isascii() and given["n"].isdecimal() and 1 <= int(given["n"]) <= MOST):
        problems.append(f"n={given['n']}: must be a whole number from 1 to {MOST}")
    if problems:
        raise ConfigError(*problems)
    return overrides, chosen, int(given["n"])
