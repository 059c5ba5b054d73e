"""A table of what several numbers of seeds can show, before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from esagent.stats.power import Attainable, Power, attainable, power


@dataclass(frozen=True)
class Plan:
    """effect, sd: of the paired difference over seeds; without them only what p can be is told."""

    alpha: float
    family: int
    effect: float | None
    sd: float | None
    margin: float | None
    rows: tuple[tuple[Attainable, tuple[Power, ...]], ...]


def plan_power(
    counts: Sequence[int], *, alpha: float, family: int, effect: float | None, sd: float | None, margin: float | None
) -> Plan:
    """One row per number of seeds. effect without sd is taken in units of it. Raises ConfigError as `power` does."""
    spread = 1.0 if effect is not None and sd is None else sd
    claims = [] if effect is None else ["different", "better"]
    if spread is not None and margin is not None:
        claims += ["no_better", "equivalent"]
    true = effect or 0.0

    def powers(n: int) -> tuple[Power, ...]:
        if spread is None:
            return ()
        return tuple(
            power(claim, n, true, spread, alpha=alpha, family=family, margin=margin or 0.0) for claim in claims
        )

    rows = tuple((attainable(n, alpha, family), powers(n)) for n in counts)
    return Plan(alpha, family, effect, spread, margin, rows)
