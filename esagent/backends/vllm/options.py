"""From the settings of a run to vLLM's: arguments of `LLM`, and the environment that it reads when it is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esagent.config.engine import LORA_RANKS
from esagent.config.schema import EngineConfig

_CPU_CACHE = 1.0  # GB for keys and values where no share of a device's memory says how many
_CPU_BLOCK = 32  # tokens of a cached block: at vLLM's 128, few-shot texts would hardly be shared
_TOKENS = 2048
PLAIN = "esagent_plain_linears"
"""Key of vLLM's `additional_config`: leave the weights of linear layers where they can be written to (`plain.py`)."""

APART = "esagent_apart"
"""The same: the engine is in a process of its own."""

_WORKER = "esagent.backends.vllm.worker.SearchWorker"
_DECODING = "esagent.backends.vllm.decoding:KeyedDecoding"


@dataclass(frozen=True)
class Adapters:
    """The LoRA slots that are needed. rank: of the adapters. sites: last parts of the paths that they act on, as vLLM
    calls its (fused) layers."""

    rank: int
    sites: tuple[str, ...]


def environment(engine: EngineConfig, on_cpu: bool) -> dict[str, str]:
    """Variables that must stand before vLLM is imported; what the user has set stays, but for those in `FORCED`.

    The engine runs in this process unless it is to have one of its own. What goes to its workers may be any object: it
    comes from here alone. Its messages go to standard error, since standard output carries data.
    """
    variables = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_LOGGING_STREAM": "ext://sys.stderr",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "1" if engine.separate_process else "0",
        "VLLM_ALLOW_INSECURE_SERIALIZATION": "1",
        "VLLM_USE_V2_MODEL_RUNNER": "0",  # the worker's hooks are made for the other one
        "VLLM_BATCH_INVARIANT": "1" if engine.batch_invariant else "0",
    }
    if on_cpu:
        # A compiler start of many seconds is spent on ranks of log-probabilities, which nobody asked for.
        variables["TORCH_COMPILE_DISABLE"] = "1"
    return variables


FORCED = (
    "VLLM_ENABLE_V1_MULTIPROCESSING",
    "VLLM_ALLOW_INSECURE_SERIALIZATION",
    "VLLM_USE_V2_MODEL_RUNNER",
    "VLLM_BATCH_INVARIANT",
)
"""Variables that the settings of a run decide, whatever the user has set."""


def arguments(
    engine: EngineConfig,
    folder: Path,
    dtype: str,
    context: int | None,
    *,
    on_cpu: bool,
    adapters: Adapters | None,
    written: bool,
) -> dict[str, Any]:
    """Keyword arguments of `vllm.LLM`.

    dtype: of the weights, as `float32`. context: the model's, None where none is stated. written: the weights
    themselves will be written to.
    """
    given: dict[str, Any] = {
        "model": str(folder),
        "dtype": dtype,
        "seed": 0,
        "tensor_parallel_size": engine.tensor_parallel_size,
        "max_num_seqs": engine.max_num_seqs,
        "max_num_batched_tokens": max(engine.max_num_batched_tokens or _TOKENS, engine.max_num_seqs),
        "enforce_eager": engine.enforce_eager,
        "enable_prefix_caching": engine.prefix_caching,
        "enable_chunked_prefill": True,
        "generation_config": "vllm",  # requests say all of it
        "worker_extension_cls": _WORKER,
        "additional_config": {PLAIN: written, APART: engine.separate_process},
        "logits_processors": [_DECODING],
        "async_scheduling": False,  # the decoding reads the tokens so far
    }
    if length := engine.max_model_len or context:
        given["max_model_len"] = length
    cache = engine.kv_cache_gb or (_CPU_CACHE if on_cpu else 0.0)
    if cache:
        given["kv_cache_memory_bytes"] = int(cache * (1 << 30))
    if on_cpu:
        given["block_size"] = _CPU_BLOCK
    else:
        given["gpu_memory_utilization"] = engine.gpu_memory_utilization
    if adapters:
        given |= {
            "enable_lora": True,
            "max_loras": engine.max_loras,
            "max_cpu_loras": 2 * engine.max_loras,
            "max_lora_rank": next(rank for rank in LORA_RANKS if rank >= adapters.rank),
            "lora_target_modules": list(adapters.sites),
        }
    return given
