"""How fast a machine is: useful FLOPs and numbers of noise a second, timed here where it is this machine."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

from esagent.config.schema import Config, DType

UTILISATION = {2: 0.35, 4: 0.5}  # share of a large matrix product's rate that generation reaches, by bytes of a number
GPU_FLOPS = 1e14  # useful work a second on a GPU that is not there to be timed
GPU_NOISE = 1e10  # numbers of noise, made and added, a second on one
_NOISE = 1 << 18
_LONG_ENOUGH = 0.3  # seconds: a format that the processor only emulates takes a second for one product


@dataclass(frozen=True)
class Rate:
    """Per second; `source` says in words where the rates come from."""

    flops: float
    noise: float
    source: str


def rate_of(config: Config) -> Rate:
    """The rates of the device that `config` asks for, in the model's number format; timed once per process."""
    return _rate(config.backend.device, config.model.dtype)


@functools.cache
def _rate(wanted: str, format: DType) -> Rate:
    import torch

    from esagent.core.noise import gaussian
    from esagent.models.loading import pick_dtype

    device = ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
    if device.startswith("cuda") and not torch.cuda.is_available():
        return Rate(GPU_FLOPS, GPU_NOISE, "assumed for a GPU: there is none here to time")
    dtype = pick_dtype(format, torch.device(device))
    share = UTILISATION[dtype.itemsize]
    rows = 1024 if device == "cpu" else 8192
    left = torch.ones(rows, 512, dtype=dtype, device=device)
    right = torch.ones(512, 1024, dtype=dtype, device=device)
    product = _fastest(lambda: (left @ right)[0, 0].item())  # reading a value waits for the device
    noise = GPU_NOISE
    if device == "cpu":
        noise = _NOISE / _fastest(lambda: gaussian(0, "rate", 0, _NOISE).add_(1.0))
    source = f"{share:.0%} of a matrix product timed here just now"
    return Rate(share * 2.0 * rows * 512 * 1024 / product, noise, source)


def _fastest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of ten calls, or of fewer slow ones: others may be using the machine too."""
    best, began = float("inf"), time.perf_counter()
    for _ in range(10):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        if start - began > _LONG_ENOUGH:
            break
    return best
