"""Updates and populations as plain JSON values and back, without loss: floats keep all bits, seeds stay integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.core.population import Perturbation, Population, Update, UpdateTerm
from esagent.errors import RunError
from esagent.runs.jsonio import plain, restore


def encode_update(update: Update) -> dict[str, Any]:
    """`update` as a dict; terms are `[seed, {block: coefficient}]`."""
    return {
        "step": update.step,
        "terms": [[term.seed, _exact(term.coefficient)] for term in update.terms],
        "step_size": _exact(update.step_size),
        "rule": update.rule,
        "normalise": update.normalise,
        "scalars": _exact(update.scalars),
        "partition": update.partition,
    }


def decode_update(value: Mapping[str, Any]) -> Update:
    """Undo `encode_update`. Raises RunError when `value` is not one."""
    try:
        terms = tuple(UpdateTerm(int(seed), _floats(coefficient)) for seed, coefficient in value["terms"])
        return Update(
            int(value["step"]),
            terms,
            _floats(value["step_size"]),
            value["rule"],
            value["normalise"],
            _floats(value["scalars"]),
            int(value["partition"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"the journal holds an update that cannot be read: {error!r}") from error


def encode_population(population: Population) -> dict[str, Any]:
    """`population` as a dict; members are `[seed, sign, {block: sigma}]` and share the step's partition."""
    return {
        "step": population.step,
        "partition": next((member.partition for member in population.members), 0),
        "members": [[m.seed, m.sign, _exact(m.sigma)] for m in population.members],
        "antithetic": population.antithetic,
    }


def decode_population(value: Mapping[str, Any]) -> Population:
    """Undo `encode_population`. Raises RunError when `value` is not one."""
    try:
        partition = int(value["partition"])
        members = tuple(
            Perturbation(int(seed), int(sign), _floats(sigma), partition) for seed, sign, sigma in value["members"]
        )
        return Population(int(value["step"]), members, bool(value["antithetic"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"the journal holds a population that cannot be read: {error!r}") from error


def _exact(value: Mapping[str, float]) -> dict[str, Any]:
    """Block -> number with every bit kept; the lossless form also carries nan and infinity through JSON."""
    encoded: dict[str, Any] = plain({block: float(number) for block, number in value.items()}, lossless=True)
    return encoded


def _floats(value: Mapping[str, Any]) -> dict[str, float]:
    return {str(block): float(restore(number)) for block, number in value.items()}
