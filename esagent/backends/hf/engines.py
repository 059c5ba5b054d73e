"""Which engine runs a model: packed tokens where all layers are attention, the library's forward where some recur."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import psutil
import torch

from esagent.backends.hf.check import check_fixed
from esagent.backends.hf.choose import Ending
from esagent.backends.hf.drafts import Drafts
from esagent.backends.hf.engine import PackedEngine
from esagent.backends.hf.hybrid import HybridEngine
from esagent.backends.hf.jobs import Job, Meter, Outcome
from esagent.backends.hf.library import HybridNetwork
from esagent.backends.hf.network import Network
from esagent.backends.hf.passes import Passes
from esagent.backends.hf.prefixes import Prefixes
from esagent.backends.hf.prompts import PromptStates
from esagent.backends.hf.reading import Reader
from esagent.backends.hf.slots import Hooks
from esagent.config.schema import BackendConfig
from esagent.core.population import Perturbation
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.spaces.base import Space
from esagent.spaces.tensors import Setting

ATTENTION, RECURRENT = "full_attention", "linear_attention"
_TOKENS_AT_ONCE = {"cpu": 1024, "cuda": 8192}  # beyond this a larger pass is no faster
_PASS_TOKENS = {"cpu": 32, "cuda": 512}  # what a pass costs, reading the weights above all, beside its tokens
_STATES = 2 << 30  # bytes of prompt states kept at most

_log = logging.getLogger(__name__)


class Engine(Protocol):
    """Completes jobs in one batch, under the terms that the hooks hold at that time."""

    @property
    def network(self) -> Any:
        """The model as it is driven here: its `model`, `device`, `dtype` and `depth`, say."""
        ...

    def prepare(self, jobs: Sequence[Job]) -> None:
        """All jobs of a call, before they are completed batch by batch: what they share is computed or kept."""
        ...

    def fitting(self, jobs: Sequence[Job], room: int) -> int:
        """How many of the next jobs make a batch that keeps no more than `room` bytes; one at least."""
        ...

    def complete(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run jobs, all of them prepared, to their end. May run out of memory; then nothing of it counts."""
        ...

    def likelihoods(self, jobs: Sequence[Job]) -> list[float]:
        """Mean log-likelihood per token of each job's `answer`, in nats; not finite where logits are not."""
        ...

    def forget(self) -> None:
        """The centre moved: drop what was computed under it."""
        ...

    def flops(self) -> float:
        """Of all work really done so far, 2 per weight and token."""
        ...


def make_engine(model: Any, hooks: Hooks, space: Space, ending: Ending, config: BackendConfig, meter: Meter) -> Engine:
    """The engine for `model`. Raises EnvironmentFailure if none can run it, ConfigError if not as configured."""
    kinds = layer_kinds(model)
    if not {ATTENTION} <= set(kinds) <= {ATTENTION, RECURRENT}:
        raise EnvironmentFailure(
            f"backend=hf cannot batch a population over {type(model).__name__}: its layers are "
            f"{', '.join(sorted(kinds))}; it can {ATTENTION}, alone or with {RECURRENT}"
        )
    if RECURRENT not in kinds:
        return _packed(model, hooks, space, ending, config, meter)
    mixed = f"{type(model).__name__} has {kinds[RECURRENT]} {RECURRENT} layers beside {kinds[ATTENTION]} {ATTENTION}"
    if config.deterministic:
        raise ConfigError(
            f"backend.deterministic=true: {mixed}, and the results of recurrent layers depend on the batch; "
            "use backend.deterministic=false"
        )
    _log.warning(
        "%s: switched off are share_trunk, draft and prompts kept from step to step; a shared prefix is copied to each "
        "row where that pays",
        mixed,
    )
    network = HybridNetwork(model)
    kind = network.device.type
    return HybridEngine(network, hooks, ending, space.answers_only, meter, _TOKENS_AT_ONCE[kind], _PASS_TOKENS[kind])


def layer_kinds(model: Any) -> Counter[str]:
    """How many layers of each kind a decoder has. Raises EnvironmentFailure if it is none of the supported build."""
    body = getattr(model, "model", None)
    if not hasattr(body, "layers") or not hasattr(body, "rotary_emb"):
        raise EnvironmentFailure(
            f"backend=hf cannot batch a population over {type(model).__name__}: it needs a decoder with "
            "model.layers and model.rotary_emb (Llama, Qwen2, Qwen3, Qwen3.5 and relatives)"
        )
    depth = len(model.model.layers)
    return Counter(getattr(model.config, "layer_types", None) or [ATTENTION] * depth)


def _packed(
    model: Any, hooks: Hooks, space: Space, ending: Ending, config: BackendConfig, meter: Meter
) -> PackedEngine:
    network = Network(model, config.deterministic)
    kind = network.device.type
    low = space.lowest_layer if config.share_trunk else 0
    only = space.answers_only
    passes = Passes(network, hooks)
    prefixes = Prefixes(network, passes, low, only, space.in_place, meter, _TOKENS_AT_ONCE[kind])
    drafts = Drafts(config.draft, _PASS_TOKENS[kind])
    states = PromptStates(min(_STATES, free_memory(network.device) // 8))
    share, pass_tokens, at_once = config.share_prefix, _PASS_TOKENS[kind], _TOKENS_AT_ONCE[kind]
    reader = Reader(network, passes, prefixes, states, low, only, share, pass_tokens, meter, at_once)
    if config.deterministic:
        _check_fixed(network, passes, hooks, space)
    return PackedEngine(network, passes, prefixes, reader, ending, drafts, low, only, meter, at_once)


@torch.inference_mode()
def _check_fixed(network: Network, passes: Passes, hooks: Hooks, space: Space) -> None:
    """Under parameters off the centre, which is zero at first and would hide the terms."""
    blocks = space.parameters.blocks()
    probe = Perturbation(0, 1, {block.name: 1.0 for block in blocks})
    module = space.parameters.tensors[0].owner
    hooks.use(space.terms([None, Setting(module, probe)]))
    check_fixed(network, passes, space.lowest_layer, 1)


def free_memory(device: torch.device) -> int:
    """Bytes that are free on a device."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return int(psutil.virtual_memory().available)
