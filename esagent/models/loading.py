"""Loading a resolved model: number format, device, and the model ready for generation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from esagent.config.schema import DType
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.models.registry import ResolvedModel


def pick_device(wanted: str) -> torch.device:
    """`auto` is the first CUDA device, else the CPU. Raises ConfigError if it is none, EnvironmentFailure if absent."""
    if wanted == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise ConfigError(f"backend.device: {wanted!r} is no device; use auto, cpu, cuda or cuda:N") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise EnvironmentFailure(f"backend.device={wanted}: this machine has {torch.cuda.device_count()} CUDA devices")
    return torch.device("cuda:0") if wanted == "cuda" else device


def pick_dtype(wanted: DType, device: torch.device) -> torch.dtype:
    """`auto` is bfloat16 where the device multiplies it natively (CUDA from Ampere; a CPU with AVX512-BF16 or AMX)."""
    if wanted is not DType.auto:
        return {DType.float32: torch.float32, DType.bfloat16: torch.bfloat16}[wanted]
    if device.type == "cuda":
        with torch.cuda.device(device):
            native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        flags = torch.cpu.get_capabilities()
        native = device.type == "cpu" and any(flags.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    return torch.bfloat16 if native else torch.float32


def load(
    resolved: ResolvedModel, dtype: torch.dtype, device: torch.device, *, attention: str = "sdpa"
) -> tuple[Any, Any]:
    """The causal language model and its tokenizer, in eval mode with gradients off; the tokenizer pads on the left.

    attention: implementation asked of transformers (`sdpa`, `eager`, or a registered one).
    Raises EnvironmentFailure if the folder holds no causal language model or the device has too little memory.
    """
    from transformers import AutoModelForCausalLM

    try:
        with _no_progress_bars():
            model = AutoModelForCausalLM.from_pretrained(
                resolved.folder, dtype=dtype, attn_implementation=attention, local_files_only=True
            ).to(device)
    except torch.OutOfMemoryError as error:
        raise EnvironmentFailure(f"model {resolved.name} does not fit into the memory of {device}") from error
    except (OSError, ValueError, KeyError) as error:
        raise EnvironmentFailure(
            f"model {resolved.name} in {resolved.folder} cannot be loaded: {_reason(error)}"
        ) from error
    return model.eval().requires_grad_(False), load_tokenizer(resolved.folder)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a local model folder, padding on the left (with the end token if it has no padding token).

    Raises EnvironmentFailure if its files are damaged.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # the Rust library behind it raises plain Exception
        raise EnvironmentFailure(f"the tokenizer in {folder} cannot be loaded: {_reason(error)}") from error
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def _no_progress_bars() -> Iterator[None]:
    """Silence the library's bars: loading takes a second, and a run has a display of its own."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
