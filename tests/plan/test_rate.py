"""The rate that a plan's seconds come from."""

from __future__ import annotations

import torch

from esagent.config.compose import compose
from esagent.config.schema import DType
from esagent.models.loading import pick_dtype
from esagent.plan.rate import UTILISATION, rate_of


def test_the_product_is_timed_in_the_format_that_the_run_will_use() -> None:
    used = pick_dtype(DType.auto, torch.device("cpu"))
    same = DType.float32 if used is torch.float32 else DType.bfloat16
    chosen, automatic = (
        rate_of(compose(["backend.device=cpu", f"model.dtype={name}"])) for name in (same.value, "auto")
    )
    assert automatic.source == chosen.source
    assert automatic.source.startswith(f"{UTILISATION[used.itemsize]:.0%} ")
    assert 0.1 < automatic.flops / chosen.flops < 10  # a processor that emulates a format is far slower in it
