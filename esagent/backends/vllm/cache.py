"""Which prefixes vLLM may share between requests.

vLLM finds the states of a block of tokens by the tokens before it and by keys of the request: the name of its adapter,
and a salt. Versions have names and salts of their own that never come back, so no request can be answered from states
of other parameters. Where parameters act on answers alone, two things hold beside:

    a block of prompt tokens is the base model's, whoever asks: all members share it
    a block with tokens of an answer is no one else's: a later prompt that quotes the answer is read by the base model
"""

from __future__ import annotations

from typing import Any

from esagent.backends.vllm.asked import extra


def install() -> None:
    """Put this on top of vLLM's own keys, in this process. Twice is as once."""
    from vllm.v1.core import kv_cache_utils

    original = kv_cache_utils.generate_block_hash_extra_keys
    if getattr(original, "knows_answers", False):
        return

    def keys(request: Any, start_token_idx: int, end_token_idx: int, start_mm_idx: int) -> tuple[Any, int]:
        found, after = original(request, start_token_idx, end_token_idx, start_mm_idx)
        boundary = extra(request.sampling_params).get("boundary")
        if boundary is None:
            return found, after
        if end_token_idx > boundary:
            return (*(found or ()), ("answer", request.request_id)), after
        return tuple(key for key in found or () if key[0] != "lora") or None, after

    keys.knows_answers = True  # type: ignore[attr-defined]
    kv_cache_utils.generate_block_hash_extra_keys = keys
