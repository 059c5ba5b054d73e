"""How a request becomes text: a few-shot prompt as it stands, or messages in the model's own chat template."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from esagent.config.schema import ModelConfig, PromptStyle
from esagent.core.episode import Message, Request, ToolSpec
from esagent.errors import ConfigError
from esagent.models.catalog import lookup


def style(config: ModelConfig, tokenizer: Any) -> PromptStyle:
    """`raw` or `chat`, never `auto`: a template is used where the model has one and is not known to do better without.

    Raises ConfigError if chat is asked of a model without a template.
    """
    template = getattr(tokenizer, "chat_template", None)
    if config.prompt_style is PromptStyle.chat and not template:
        raise ConfigError(f"model.prompt_style=chat: {config.name} has no chat template; use raw")
    if config.prompt_style is not PromptStyle.auto:
        return config.prompt_style
    known = lookup(config.source, config.name)
    return PromptStyle.chat if template and not (known and known.raw) else PromptStyle.raw


def render(tokenizer: Any, request: Request, *, split: bool = False) -> tuple[str, str]:
    """The texts `(prefix, prompt)` that a model reads one after the other for `request`.

    Without messages these are the request's own. Messages go through the chat template, tools in its native format, a
    thinking model told not to think, and the prefix is empty unless `split` asks for the part that every request with
    the same system message and tools begins with. Both texts are complete: tokenise them without adding special tokens.
    """
    if not request.messages:
        return request.prefix, request.prompt
    messages = list(request.messages)
    if request.tools and not _takes(tokenizer, "tools"):
        messages = _tools_as_text(messages, request.tools)
    text = _apply(tokenizer, messages, request.tools)
    prefix = _shared(tokenizer, messages, request.tools) if split else ""
    return (prefix, text[len(prefix) :]) if text.startswith(prefix) else ("", text)


def _apply(tokenizer: Any, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
    options: dict[str, Any] = {}
    if tools and _takes(tokenizer, "tools"):
        options["tools"] = [_schema(tool) for tool in tools]
    if _takes(tokenizer, "enable_thinking"):
        options["enable_thinking"] = False
    turns = [{"role": message.role, "content": message.content} for message in messages]
    return str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **options))


def _takes(tokenizer: Any, variable: str) -> bool:
    template = tokenizer.chat_template
    return variable in (str(sorted(template.values())) if isinstance(template, dict) else template)


def _schema(tool: ToolSpec) -> dict[str, Any]:
    """A tool in the form of the OpenAI interface, which every chat template with tools understands."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _tools_as_text(messages: list[Message], tools: Sequence[ToolSpec]) -> list[Message]:
    """For a template that has no place for tools: their schemas in the system message, calls in `<tool_call>` tags."""
    listing = "\n".join(json.dumps(_schema(tool)) for tool in tools)
    note = (
        f"You can call these tools:\n<tools>\n{listing}\n</tools>\n"
        'Write a call as <tool_call>{"name": ..., "arguments": {...}}</tool_call>.'
    )
    if messages[0].role == "system":
        return [replace(messages[0], content=f"{messages[0].content}\n\n{note}"), *messages[1:]]
    return [Message("system", note), *messages]


def _shared(tokenizer: Any, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
    """What the template gives before the first message that is not the system's, cut behind a special token.

    Special tokens are split off before anything else is tokenised, so cutting there leaves the tokens as they were.
    """
    system = [message for message in messages if message.role == "system"][:1]
    first, second = (_apply(tokenizer, [*system, Message("user", word)], tools) for word in ("alpha", "omega"))
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    common = "".join(letter for letter, _ in equal)
    special = [token for token in tokenizer.added_tokens_decoder.values() if not (token.lstrip or token.rstrip)]
    ends = [common.rfind(token.content) + len(token.content) for token in special if token.content in common]
    return common[: max(ends, default=0)]
