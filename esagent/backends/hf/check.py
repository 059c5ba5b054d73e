"""Do this machine's kernels keep the promise of `backend.deterministic`? Asked before anything is run."""

from __future__ import annotations

import torch

from esagent.backends.hf.network import Network
from esagent.backends.hf.passes import Passes
from esagent.errors import EnvironmentFailure

_COMPANY = (7, 30, 1, 95)  # lengths of the texts beside ours


def check_fixed(network: Network, passes: Passes, layer: int, slot: int) -> None:
    """Compute a text alone, and again in two passes amid others: states and logits must agree to the bit.

    Layers are alike, so one of them, under the parameters of `slot`, stands for all. Raises EnvironmentFailure where a
    kernel's result for one token depends on the tokens beside it.
    """
    length = 2 * network.chunk + 9
    half = length // 2
    tokens = torch.arange(length + sum(_COMPANY), device=network.device).mul_(7919).remainder_(network.vocabulary)
    mine, others = network.embed(tokens).split([length, sum(_COMPANY)])
    store = network.store(layer, layer + 1, 1, length)
    alone = passes.run(mine, layer, layer + 1, store, [0], [length], [slot])

    rows, none = len(_COMPANY) + 1, [0] * len(_COMPANY)
    store, slots = network.store(layer, layer + 1, rows, length), [slot] * rows
    first = torch.cat([others, mine[:half]])
    first = passes.run(first, layer, layer + 1, store, [0] * rows, [*_COMPANY, half], slots)
    second = passes.run(mine[half:], layer, layer + 1, store, [*_COMPANY, half], [*none, length - half], slots)
    amid = torch.cat([first[-half:], second])

    chunk = alone[: network.chunk]
    heads = network.logits(chunk), network.logits(chunk.flip(0)).flip(0)
    if not torch.equal(amid, alone) or not torch.equal(*heads):
        raise EnvironmentFailure(
            f"backend.deterministic=true: with {torch.get_num_threads()} threads the {network.dtype} kernels of this "
            f"{network.device.type} let a result depend on its neighbours in the batch; try backend.threads=1, "
            "model.dtype=float32 or backend.deterministic=false"
        )
