"""Independent pieces of work on as many threads as torch may use.

numpy and torch release Python's lock while they compute, so plain threads do. Results must not depend on who does
which piece; then they do not depend on the number of threads either.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import torch

T = TypeVar("T")


def for_each(work: Callable[[T], None], items: Sequence[T]) -> None:
    """work(item) for every item, in any order. The first exception that a piece raised comes out, after all threads."""
    helpers = min(torch.get_num_threads(), len(items)) - 1
    queue = iter(items)  # shared: under Python's lock every item is handed out once, to whoever is free

    def drain() -> None:
        for item in queue:
            work(item)

    helping = [_pool(helpers).submit(drain) for _ in range(helpers)]
    try:
        drain()
    finally:
        wait(helping)
    for helper in helping:
        helper.result()


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="esagent-noise")


# Threads do not survive a fork: a child that kept the pool would wait for them for ever.
os.register_at_fork(after_in_child=_pool.cache_clear)
