"""Holm's step-down correction for a family of tests that was declared beforehand.

With p_(1) <= ... <= p_(m) the adjusted p-values are

    p~_(i) = max_{j <= i} min(1, (m - j + 1) p_(j)),

and rejecting where p~ <= alpha keeps the chance of any false rejection below alpha, however the tests depend on each
other (Holm, 1979, "A simple sequentially rejective multiple test procedure").
"""

from __future__ import annotations

from collections.abc import Mapping

from esagent.errors import ConfigError


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p-values {test: p}, in the order given. Raises ConfigError for a p outside [0, 1]."""
    for name, p in p_values.items():
        if not 0.0 <= p <= 1.0:
            raise ConfigError(f"p={p} of {name}: is no probability")
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
