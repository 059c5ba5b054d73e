"""Do this machine's kernels keep the promise of `backend.deterministic`? Asked before anything is run."""

from __future__ import annotations

import torch

from esagent.backends.hf.network import Network
from esagent.backends.hf.passes import Passes
from esagent.backends.hf.store import Source
from esagent.errors import EnvironmentFailure

_COMPANY = (7, 30, 1, 95)  # lengths of the texts beside ours
_CONTEXT = 70  # tokens that come before our text


def check_fixed(network: Network, passes: Passes, layer: int, slot: int) -> None:
    """Compute a text alone, and again in two passes amid others: states and logits must agree to the bit.

    Layers are alike, so one of them, under the parameters of `slot`, stands for all. Raises EnvironmentFailure where a
    kernel's result for one token depends on the tokens beside it.
    """
    layers, length = (layer, layer + 1), 2 * network.chunk + 9
    tokens = torch.arange(length + sum(_COMPANY)).mul_(7919).remainder_(network.vocabulary).tolist()
    mine, others = passes.enter(tokens).split([length, sum(_COMPANY)])
    context = network.store(*layers, 1, _CONTEXT)
    passes.run(others[:_CONTEXT], layers, context, (), [0], [_CONTEXT], [slot])
    past = Source(context, 0, _CONTEXT)
    alone = passes.run(mine, layers, network.store(*layers, 1, length), [[past]], [_CONTEXT], [length], [slot])

    rows, none, half = len(_COMPANY) + 1, [0] * len(_COMPANY), length // 2
    own, slots = network.store(*layers, rows, length), [slot] * rows
    pasts = [[past, None, None, past, past]]
    starts = [s.length if s else 0 for s in pasts[0]]
    first = passes.run(torch.cat([others, mine[:half]]), layers, own, pasts, starts, [*_COMPANY, half], slots)
    starts[-1] += half
    second = passes.run(mine[half:], layers, own, pasts, starts, [*none, length - half], slots)
    amid = torch.cat([first[-half:], second])

    chunk = alone[: network.chunk]
    under = [slot] * len(chunk)
    heads = passes.logits(chunk, under), passes.logits(chunk.flip(0), under).flip(0)
    if not torch.equal(amid, alone) or not torch.equal(*heads):
        raise EnvironmentFailure(
            f"backend.deterministic=true: with {torch.get_num_threads()} threads the {network.dtype} kernels of this "
            f"{network.device.type} let a result depend on its neighbours in the batch; try backend.threads=1, "
            "model.dtype=float32 or backend.deterministic=false"
        )
