"""Which runs belong to one arm of a study: those whose settings differ in nothing but the seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esagent.config.nearest import suggest_path
from esagent.core.ledger import KINDS
from esagent.errors import ConfigError

APART = ("seed", "name", "runs_dir", "study", "guards")
"""Settings that tell runs apart without making another arm."""

ONE_ARM = "all"
"""Label of an arm that has nothing to be told from."""

Flat = Mapping[str, Any]


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"space": {"rank": 8}} as {"space.rank": 8}; an empty mapping has no keys."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat


def telling_keys(configs: Sequence[Flat]) -> list[str]:
    """The fewest keys, taken in order, that tell all arms apart.

    Names go first, as `model.name` says more than `model.source`; a key that splits no group further is left out, so
    settings that change together are named once.
    """
    keys = [key for key in dict.fromkeys(key for config in configs for key in config) if key not in APART]
    differing = [key for key in keys if len({_show(config.get(key)) for config in configs}) > 1]
    differing.sort(key=lambda key: not key.endswith(".name"))
    arms = len({_values(config, differing) for config in configs})
    chosen: list[str] = []
    groups = 1
    for key in differing:
        finer = len({_values(config, [*chosen, key]) for config in configs})
        if finer > groups:
            chosen, groups = [*chosen, key], finer
        if groups == arms:
            break
    return [key for key in keys if key in chosen]


def label_arms(configs: Sequence[Flat], by: Sequence[str] = ()) -> list[str]:
    """The arm of each flat configuration, as in `space.positions=all`; ONE_ARM when there is no other.

    by: the keys that make an arm, instead of all that differ. Raises ConfigError for a key that no run has.
    """
    known = list(dict.fromkeys(key for config in configs for key in config))
    unknown = [key for key in by if key not in known]
    if unknown:
        raise ConfigError(*(f"--by {key}: no run has this setting; {suggest_path(key, known)}" for key in unknown))
    keys = list(by) or telling_keys(configs)
    return [" ".join(f"{key}={_show(config.get(key))}" for key in keys) or ONE_ARM for config in configs]


def training_budget(config: Flat) -> tuple[str, float]:
    """What a run may spend on training: (unit, amount). Steps are told in episodes, for they differ in size."""
    (kind,) = (kind for kind in KINDS if config.get(f"budget.{kind}") is not None)
    amount = float(config[f"budget.{kind}"])
    return ("episodes", amount * episodes_per_step(config)) if kind == "steps" else (kind, amount)


def episodes_per_step(config: Flat) -> int:
    """Members times tasks of a step."""
    members = int(config["algorithm.directions"]) * (2 if config["algorithm.antithetic"] else 1)
    return members * int(config["budget.tasks_per_step"])


def pairing_problems(configs: Sequence[Flat]) -> list[str]:
    """What the arms do not share although a paired comparison needs it: tasks and their order, base weights, budget."""
    problems = []
    for shared, prefixes in _SHARED.items():
        keys = dict.fromkeys(key for config in configs for key in config if key.startswith(prefixes))
        differing = [key for key in keys if len({_show(config.get(key)) for config in configs}) > 1]
        if differing:
            problems.append(f"not paired: arms differ in {', '.join(differing)}, so they do not share {shared}")
    if any(config.get("budget.task_sampling") == "variance" for config in configs) and _several_arms(configs):
        problems.append(
            "arms share the pool but not the order of tasks, which each drew by its own rewards: "
            "budget.task_sampling=uniform pairs them"
        )
    return problems + unequal_budgets(configs)


def _several_arms(configs: Sequence[Flat]) -> bool:
    return len(set(label_arms(configs))) > 1


def unequal_budgets(configs: Sequence[Flat]) -> list[str]:
    """One line when the training budgets of the arms differ."""
    budgets = sorted({training_budget(config) for config in configs})
    listed = ", ".join(f"{amount:,.12g} {unit}" for unit, amount in budgets)
    return [f"not paired: unequal budgets between arms: {listed} of training"] if len(budgets) > 1 else []


def objective_problem(configs: Sequence[Flat], by: Sequence[str]) -> str:
    """Why runs that were trained on different objectives are not compared; "" where it is asked for by name."""
    found = sorted({_show(config.get("objective")) for config in configs})
    if len(found) == 1 or "objective" in by:
        return ""
    return (
        f"runs were trained on different objectives ({', '.join(found)}; likelihood is supervised, by gold outputs): "
        "to compare them all the same, say so with --by objective"
    )


_SHARED = {
    "base weights": ("model.",),
    "tasks": ("task.",),
    "the order of tasks": ("budget.tasks_per_step", "budget.task_sampling"),
}


def _values(config: Flat, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(_show(config.get(key)) for key in keys)


def _show(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_show, value))}]"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
