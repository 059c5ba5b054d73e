"""How long a text a model was made for."""

from __future__ import annotations

from typing import Any

_STRETCHED = ("linear", "dynamic", "yarn")  # rotary types that reach beyond the length a configuration states


def context_length(config: Any) -> int | None:
    """Tokens that a prompt and its answer may have together, by a transformers configuration; None: no bound is stated.

    That is `max_position_embeddings`, or where the rotary embedding is stretched by a factor, that times the length it
    was trained at, if this is more.
    """
    text = config.get_text_config()
    stated: int | None = getattr(text, "max_position_embeddings", None)
    if not stated:
        return None
    rope = getattr(text, "rope_parameters", None) or {}
    if rope.get("rope_type") not in _STRETCHED:
        return stated
    trained = rope.get("original_max_position_embeddings") or stated
    return max(stated, int(trained * (rope.get("factor") or 1.0)))
