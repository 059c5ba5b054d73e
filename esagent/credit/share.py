"""Credit: the smoothed share of failures that are due to each module, averaged over steps.

    c_0 = 1/M,    c_t = (1 - rate) c_{t-1} + rate s_t,    s_t[m] = (n_t[m] + k) / (sum n_t + k M)

with n_t the counts of blamed modules of step t and k the additive smoothing. A share, so c >= 0 and sum c = 1. Pure:
the value after any step follows from the counts in the journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from esagent.errors import ConfigError

RATE = 0.2
SMOOTHING = 1.0


def uniform_credit(modules: Sequence[str]) -> dict[str, float]:
    """Equal credit for every module: what is known before the first step."""
    return {name: 1.0 / len(modules) for name in modules}


def update_credit(
    credit: Mapping[str, float], counts: Mapping[str, int], rate: float = RATE, smoothing: float = SMOOTHING
) -> dict[str, float]:
    """Credit after a step that blamed each module `counts` times. A step without failures changes nothing.

    Raises ConfigError when `rate` is outside (0, 1] or `smoothing` is below 0.
    """
    if not 0.0 < rate <= 1.0 or smoothing < 0.0:
        raise ConfigError(f"credit needs 0 < rate <= 1 and smoothing >= 0, not rate={rate:g}, smoothing={smoothing:g}")
    failures = sum(counts.get(name, 0) for name in credit)
    if failures == 0:
        return dict(credit)
    total = failures + smoothing * len(credit)
    raw = {name: (1.0 - rate) * old + rate * (counts.get(name, 0) + smoothing) / total for name, old in credit.items()}
    scale = sum(raw.values())  # 1 up to rounding; dividing keeps the error from growing over a long run
    return {name: value / scale for name, value in raw.items()}
