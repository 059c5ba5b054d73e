"""Settings of `backend.engine`, and what vLLM cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from esagent.config.names import WEIGHT_SPACES
from esagent.config.schema import BackendConfig, Config, EngineConfig, Positions

LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM makes room for; an adapter of another rank takes the next larger one."""


def engine_problems(config: Config) -> Iterator[str]:
    """What of `backend` and `space` does not go together with vLLM, and settings that would be left without effect."""
    backend, engine = config.backend, config.backend.engine
    if backend.name != "vllm":
        yield from _unused(backend)
        return
    if backend.deterministic:
        yield "backend.deterministic=true: is for backend=hf; vLLM's own is backend.engine.batch_invariant=true (CUDA)"
    if backend.device.startswith("cuda:"):
        yield (
            f"backend.device={backend.device}: vLLM takes the first devices it sees; choose them with "
            "CUDA_VISIBLE_DEVICES and set backend.device=cuda"
        )
    if not backend.share_requests:
        yield "backend.share_requests=false: is for backend=hf"
    if config.space.name == "bias" and not engine.enforce_eager:
        yield "backend.engine.enforce_eager=false: space=bias adds its vectors outside captured graphs; set it to true"
    if config.space.name in ("core", "lora", "lowrank") and config.space.rank > LORA_RANKS[-1]:
        yield f"space.rank={config.space.rank}: vLLM has adapters up to rank {LORA_RANKS[-1]}"
    on_answers = config.space.name not in WEIGHT_SPACES and config.space.positions is Positions.answer
    if engine.separate_process and engine.prefix_caching and on_answers:
        yield (
            "backend.engine.separate_process=true: with space.positions=answer prefixes can only be cached in this "
            "process; set backend.engine.prefix_caching=false"
        )


def _unused(backend: BackendConfig) -> Iterator[str]:
    for name, value in vars(EngineConfig()).items():
        given = getattr(backend.engine, name)
        if given != value:
            shown = getattr(given, "value", given)
            yield f"backend.engine.{name}={shown}: is for backend=vllm, and this is backend={backend.name}"
