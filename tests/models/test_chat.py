"""Rendering requests: raw text, chat templates with native tools, and the part that can be shared."""

from __future__ import annotations

import json

import pytest

from esagent.config.schema import ModelConfig, PromptStyle
from esagent.core.episode import Message, Request, ToolSpec
from esagent.errors import ConfigError
from esagent.models.chat import render, style
from tests.helpers.tiny import CHATML, THINKING, make_tokenizer

NO_TOOLS = CHATML[CHATML.index("{% for message") :]
TOOL = ToolSpec("add", "Adds two numbers.", {"type": "object", "properties": {"a": {"type": "number"}}})
SYSTEM, USER = Message("system", "Be brief."), Message("user", "What is 1 + 2?")


def ask(*messages: Message, tools: tuple[ToolSpec, ...] = ()) -> Request:
    return Request(module="caller", prompt="unused", messages=messages, tools=tools)


def test_raw_requests_pass_through() -> None:
    request = Request(module="caller", prefix="Q: 1\nA: 2\n", prompt="Q: 3\nA:")
    assert render(make_tokenizer(chat_template=CHATML), request) == ("Q: 1\nA: 2\n", "Q: 3\nA:")


def test_messages_go_through_the_template() -> None:
    prefix, prompt = render(make_tokenizer(chat_template=CHATML), ask(SYSTEM, USER))
    assert prefix == ""
    assert prompt == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is 1 + 2?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_tools_are_given_in_the_native_format() -> None:
    _, prompt = render(make_tokenizer(chat_template=CHATML), ask(USER, tools=(TOOL,)))
    listed = prompt[prompt.index("<tools>\n") + len("<tools>\n") : prompt.index("\n</tools>")]
    function = {"name": "add", "description": "Adds two numbers.", "parameters": dict(TOOL.parameters)}
    assert json.loads(listed) == {"type": "function", "function": function}


@pytest.mark.parametrize("messages", [(USER,), (SYSTEM, USER)])
def test_a_template_without_tools_gets_them_as_text(messages: tuple[Message, ...]) -> None:
    _, prompt = render(make_tokenizer(chat_template=NO_TOOLS), ask(*messages, tools=(TOOL,)))
    assert prompt.count("<|im_start|>system") == 1
    assert '"name": "add"' in prompt
    assert prompt.index('"name": "add"') < prompt.index("What is")
    assert ("Be brief." in prompt) == (SYSTEM in messages)


def test_a_thinking_model_is_told_not_to() -> None:
    _, prompt = render(make_tokenizer(chat_template=CHATML + THINKING), ask(USER))
    assert prompt.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


@pytest.mark.parametrize("template", [CHATML, CHATML + THINKING, NO_TOOLS])
@pytest.mark.parametrize("content", ["What is 1 + 2?", "\n\n odd start", "alpha", "omega"])
def test_a_shared_prefix_changes_neither_text_nor_tokens(template: str, content: str) -> None:
    tokenizer = make_tokenizer(chat_template=template)
    request = ask(SYSTEM, Message("user", content), Message("assistant", "3"), Message("tool", "3"), tools=(TOOL,))
    _, whole = render(tokenizer, request)
    prefix, rest = render(tokenizer, request, split=True)
    assert prefix + rest == whole
    assert "Be brief." in prefix
    assert "add" in prefix
    assert content not in prefix

    def ids(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    assert ids(prefix) + ids(rest) == ids(whole)


def test_the_prefix_depends_on_nothing_but_system_and_tools() -> None:
    tokenizer = make_tokenizer(chat_template=CHATML)
    prefixes = {render(tokenizer, ask(SYSTEM, Message("user", q)), split=True)[0] for q in ("one", "two", "")}
    assert len(prefixes) == 1


def test_a_conversation_that_does_not_begin_like_the_others_shares_nothing() -> None:
    tokenizer = make_tokenizer(chat_template="{% if messages|length > 1 %}LONG {% endif %}" + CHATML)
    request = ask(USER, Message("assistant", "3"), USER)
    prefix, rest = render(tokenizer, request, split=True)
    assert (prefix, rest) == ("", render(tokenizer, request)[1])


def test_style() -> None:
    with_template, without = make_tokenizer(chat_template=CHATML), make_tokenizer()
    assert style(ModelConfig(name="smollm2-135m"), with_template) is PromptStyle.raw
    assert style(ModelConfig(name="smollm2-135m", prompt_style=PromptStyle.chat), with_template) is PromptStyle.chat
    same = ModelConfig(name="mine", source="HuggingFaceTB/SmolLM2-135M-Instruct")
    assert style(same, with_template) is PromptStyle.raw
    assert style(ModelConfig(name="qwen2.5-3b"), with_template) is PromptStyle.chat
    assert style(ModelConfig(name="org/base"), without) is PromptStyle.raw
    assert style(ModelConfig(name="org/base", prompt_style=PromptStyle.raw), with_template) is PromptStyle.raw
    with pytest.raises(ConfigError, match="org/base has no chat template"):
        style(ModelConfig(name="org/base", prompt_style=PromptStyle.chat), without)
