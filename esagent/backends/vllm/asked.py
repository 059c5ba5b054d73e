"""What a request says to the worker beside its text: vLLM hands `extra_args` through to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEY = "esagent"


def extra(params: Any) -> dict[str, Any]:
    """Of SamplingParams: {} for a request that is not ours.

    version: number of the parameters it runs under, 0 for the base model. boundary: index of the first token that runs
    under them; those before it are the base model's. For `decoding`: temperature, seed, choices, ends.
    """
    found = (getattr(params, "extra_args", None) or {}).get(KEY)
    return found or {}


def versions(runner: Any, scheduled: Sequence[int]) -> NDArray[np.int64]:
    """Version of each token of the pass that `runner` prepares, request after request: [sum of scheduled].

    scheduled: tokens of each request of the batch. The input batch counts what was computed before.
    """
    batch = runner.input_batch
    parts = []
    for at, (name, count) in enumerate(zip(batch.req_ids, scheduled, strict=False)):
        asked = extra(runner.requests[name].sampling_params)
        row = np.full(int(count), asked.get("version", 0), np.int64)
        before = asked.get("boundary", 0) - int(batch.num_computed_tokens_cpu[at])
        row[: max(0, before)] = 0
        parts.append(row)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
