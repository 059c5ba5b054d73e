"""How fast dense noise is made and added, against seeded `torch.randn` and an add, for every tensor of SmolLM2-135M.

Run by `make bench`, or alone: `python -m tests.bench.noise [--threads 1 2] [--repeat 5]`. Repetitions of all ways
alternate within one process; the figures are medians, and ratios below 1 mean less time than the fastest way with
torch.randn. Tensors are zeros of the real shapes, in fp32: no weights are needed. Peak memory is what the process grew
by beyond them. Fails where ours takes longer than the fastest randn.

    ours            add_noise on each tensor
    rademacher      the same with signs
    bfloat16        into a model in bfloat16: Parameters.write, as members of dense spaces are made of the fp32 centre
    ranges          Parameters.ranges: a copy of the centre with noise on it, range by range
    randn           torch.randn of each tensor's size and an add: a temporary as large as the largest tensor
    randn at once   torch.randn of all numbers and an add: a temporary as large as the model
    update          the sum of `directions` noises, per direction: Dense.total, as updates are made
    randn update    the same with torch.randn of each tensor's size, in fp32
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

from esagent.cli.environment import prepare

prepare()

import torch
from torch import Tensor

from esagent.core.laws import Law
from esagent.core.noise import add_noise, direction_seed
from esagent.core.population import Perturbation
from esagent.models.catalog import CATALOG, Architecture
from esagent.spaces.forms import Dense
from esagent.spaces.parameters import Parameters, spans
from esagent.spaces.tensors import SearchTensor
from tests.helpers.memory import peak_growth

MODEL = "smollm2-135m"
SIGMA = 1e-3


def shapes(sizes: Architecture) -> dict[str, tuple[int, ...]]:
    """Every tensor of a Llama of these sizes with tied embeddings."""
    hidden, inner = sizes.hidden, sizes.intermediate
    queries, keys = sizes.heads * sizes.head_dim, sizes.kv_heads * sizes.head_dim
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (sizes.vocab, hidden),
        "model.norm.weight": (hidden,),
    }
    for i in range(sizes.layers):
        found |= {
            f"model.layers.{i}.{name}.weight": shape
            for name, shape in {
                "self_attn.q_proj": (queries, hidden),
                "self_attn.k_proj": (keys, hidden),
                "self_attn.v_proj": (keys, hidden),
                "self_attn.o_proj": (hidden, queries),
                "mlp.gate_proj": (inner, hidden),
                "mlp.up_proj": (inner, hidden),
                "mlp.down_proj": (hidden, inner),
                "input_layernorm": (hidden,),
                "post_attention_layernorm": (hidden,),
            }.items()
        }
    return found


class Ways:
    """The same work done in several ways on the same tensors."""

    def __init__(self, directions: int) -> None:
        named = shapes(CATALOG[MODEL].architecture)
        self.tensors = [
            SearchTensor(name, name.removesuffix(".weight"), torch.Size(shape).numel(), 1.0, row=shape[-1])
            for name, shape in named.items()
        ]
        self.numbers = sum(tensor.size for tensor in self.tensors)
        if self.numbers != CATALOG[MODEL].architecture.parameters:
            raise ValueError(f"{self.numbers} numbers; the catalog says {CATALOG[MODEL].architecture.parameters}")
        self.flat = torch.zeros(self.numbers)
        self.parts: list[Tensor] = list(self.flat.split([tensor.size for tensor in self.tensors]))
        centre = {tensor.name: part for tensor, part in zip(self.tensors, self.parts, strict=True)}
        self.parameters = Parameters(self.tensors, start=centre)
        self.member = Perturbation(1, 1, {block.name: SIGMA for block in self.parameters.blocks()})
        self.model = torch.zeros(self.numbers, dtype=torch.bfloat16)
        self.directions = directions
        self.generator = torch.Generator()

    def ours(self, law: Law = "gaussian") -> None:
        for tensor, part in zip(self.tensors, self.parts, strict=True):
            add_noise(part, law, tensor.name, 0, [(1, SIGMA)], out=part)

    def rademacher(self) -> None:
        self.ours("rademacher")

    def bfloat16(self) -> None:
        for tensor, out in zip(self.tensors, self.model.split([t.size for t in self.tensors]), strict=True):
            self.parameters.write(out, tensor, self.member)

    def ranges(self) -> None:
        for tensor in self.tensors:
            for _ in self.parameters.ranges(tensor, self.member):
                pass

    def randn(self) -> None:
        for i, part in enumerate(self.parts):
            part.add_(torch.randn(part.shape, generator=self.generator.manual_seed(i)), alpha=SIGMA)

    def randn_at_once(self) -> None:
        self.flat.add_(torch.randn(self.numbers, generator=self.generator.manual_seed(1)), alpha=SIGMA)

    def update(self) -> None:
        terms = [(direction_seed(1, 0, i), 0.1 * i - 0.55) for i in range(self.directions)]
        for tensor in self.tensors:
            for start, count in spans(tensor):
                Dense().total(terms, tensor, start, count)

    def randn_update(self) -> None:
        for i, part in enumerate(self.parts):
            total = torch.zeros_like(part)
            for direction in range(self.directions):
                self.generator.manual_seed(1000 * direction + i)
                total.add_(torch.randn(part.shape, generator=self.generator), alpha=0.1 * direction - 0.55)


def measure(ways: dict[str, Callable[[], None]], repeat: int) -> dict[str, float]:
    """Median seconds of each way, after one round to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for round_ in range(repeat + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            if round_:
                seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main() -> int:
    """Print one JSON object: seconds, ratios and peak memory of each way. Returns 1 where ours is slower."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--directions", type=int, default=2)
    options = parser.parse_args()
    work = Ways(options.directions)
    ways = {
        "ours": work.ours,
        "randn": work.randn,
        "rademacher": work.rademacher,
        "bfloat16": work.bfloat16,
        "ranges": work.ranges,
        "randn at once": work.randn_at_once,
        "update": work.update,
        "randn update": work.randn_update,
    }
    out: dict[str, object] = {"model": MODEL, "numbers": work.numbers}
    slower = False
    for threads in options.threads:
        torch.set_num_threads(threads)
        times = measure(ways, options.repeat)
        for name in ("update", "randn update"):
            times[name] /= options.directions
        fastest = min(times["randn"], times["randn at once"])
        slower |= times["ours"] > fastest
        out[f"{threads} threads"] = {
            "seconds": {name: round(value, 3) for name, value in times.items()},
            "ratio to the fastest randn": {
                name: round(times[name] / fastest, 3) for name in ("ours", "rademacher", "bfloat16", "ranges")
            }
            | {"update": round(times["update"] / times["randn update"], 3)},
        }
    out["peak MB beyond the weights"] = {name: round(peak_growth(way) / 1e6, 1) for name, way in ways.items()}
    print(json.dumps(out, indent=1))
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
