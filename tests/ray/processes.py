"""Worker processes that are used again from test to test, for one takes seconds to start. What a test kills is killed.

A pool that is closed gives its processes back instead of ending them; `build` makes their backends anew.
"""

from __future__ import annotations

from typing import Any

import pytest

from esagent.backends.ray import cluster
from esagent.backends.ray.pool import Pool

_idle: list[Any] = []
_start = cluster.new_worker


def take(cpus: int = 0, gpus: int = 0) -> Any:
    """An idle process, or a new one."""
    return _idle.pop() if _idle else _start(cpus, gpus)


def give_back(pool: Pool) -> None:
    """In place of `Pool.close`. Newcomers that are still on their way do what they were asked, and then are idle."""
    _idle.extend(handle.actor for handle in (*pool.workers, *(newcomer.handle for newcomer in pool._coming)))
    pool.workers, pool._coming = [], []


@pytest.fixture(autouse=True)
def reused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of pools that `make_backend` makes come from here. To be imported where it is wanted."""
    cluster.connect(None, 2)
    monkeypatch.setattr(cluster, "new_worker", take)
    monkeypatch.setattr(Pool, "close", give_back)
