"""How an estimate becomes a step: plain, momentum, Adam. Pure functions over tensors and a per-tensor state.

Each takes the estimate g and the state of one tensor and returns (direction, new state); the caller scales the
direction by the step size. Ascent: rewards are maximised.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, zeros_like

State = dict[str, Tensor]


def plain(estimate: Tensor, state: State) -> tuple[Tensor, State]:
    """The estimate itself."""
    return estimate, state


def momentum(estimate: Tensor, state: State, *, beta: float) -> tuple[Tensor, State]:
    """Heavy ball, m <- beta m + g (Polyak 1964); the direction is m."""
    velocity = beta * state.get("m", zeros_like(estimate)) + estimate
    return velocity, {"m": velocity}


def adam(
    estimate: Tensor, state: State, *, step: int, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
) -> tuple[Tensor, State]:
    """Adam on the estimate (Kingma and Ba 2015, algorithm 1). step: number of updates so far, 0 for the first."""
    first = beta1 * state.get("m", zeros_like(estimate)) + (1 - beta1) * estimate
    second = beta2 * state.get("v", zeros_like(estimate)) + (1 - beta2) * estimate.square()
    corrected = first / (1 - beta1 ** (step + 1))
    spread = (second / (1 - beta2 ** (step + 1))).sqrt()
    return corrected / (spread + eps), {"m": first, "v": second}


def advance(rule: str, estimate: Tensor, state: State, step: int, scalars: Mapping[str, float]) -> tuple[Tensor, State]:
    """One step of the named rule with its scalars (`momentum`; `beta1`, `beta2`). Slots of no rule are left alone."""
    if rule == "momentum":
        return momentum(estimate, state, beta=scalars["momentum"])
    if rule == "adam":
        return adam(estimate, state, step=step, beta1=scalars.get("beta1", 0.9), beta2=scalars.get("beta2", 0.999))
    return plain(estimate, state)
