"""pass@k: the chance that at least one of k samples of a task is right, estimated from n >= k samples of it.

    pass@k = 1 - C(n - c, k) / C(n, k)

with c of the n samples right (Chen et al. 2021, arXiv 2107.03374): the share of all k-subsets of the samples that hold
a right one, which is unbiased for independent samples. Computed as 1 - prod_{i=n-c+1}^{n} (1 - k/i), which needs no
large binomials, and 1 where n - c < k.
"""

from __future__ import annotations

import math

from esagent.errors import ConfigError


def pass_at_k(n: int, c: int, k: int) -> float:
    """The estimate for one task, `c` of `n` samples right. Raises ConfigError unless 0 <= c <= n and 1 <= k <= n."""
    if not 0 <= c <= n:
        raise ConfigError(f"pass@k: {c} right samples of {n} cannot be")
    if not 1 <= k <= n:
        raise ConfigError(f"pass@{k} needs 1 <= k <= n; there are n={n} samples")
    if n - c < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / i for i in range(n - c + 1, n + 1))


def levels(n: int) -> list[int]:
    """The k that are worth reporting for n samples: 1, 2, 4, ... and n itself; none for n = 0."""
    return sorted({2**i for i in range(n.bit_length())} | {n}) if n > 0 else []
