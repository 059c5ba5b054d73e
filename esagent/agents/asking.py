"""What every shipped agent does alike: asking a module, running a call, showing a result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from esagent.agents.prompts import Prompt
from esagent.agents.toolcalls import visible_text
from esagent.core.episode import Completion, Request, ToolCall, ToolResult, ToolSpec
from esagent.errors import ConfigError
from esagent.tasks.base import Dialogue, Environment, Message

Style = Literal["raw", "chat"]

SHOWN = 200
"""Longest tool output put into a later prompt, in characters."""

_WORD = re.compile(r"[\w.\-]+")


@dataclass(frozen=True)
class Asker:
    """Makes a module's requests from its prompt.

    max_new_tokens: per module.
    style: raw models read few-shot text up to the end of the line, chat models the same examples as messages.
    """

    prompts: Mapping[str, Prompt]
    max_new_tokens: Mapping[str, int]
    style: Style

    def request(
        self,
        module: str,
        fields: Mapping[str, str],
        tools: Sequence[ToolSpec],
        *,
        choices: Sequence[str] = (),
        list_tools: bool = False,
        native_tools: bool = False,
        examples: bool = True,
    ) -> Request:
        """The request for one answer of `module`.

        choices: closes the question. The rest matters to chat models only: list_tools ends the instruction with the
        task's tools unless the prompt says {tools} itself; native_tools hands them to the model's own format; without
        `examples` there is the instruction and the task alone.
        """
        prompt = self.prompts[module]
        filled = prompt.fill(fields)
        if self.style == "raw":
            return Request(
                module=module,
                prompt=f"\n\n{filled}",
                prefix=prompt.prefix(tools),
                max_new_tokens=self.max_new_tokens[module],
                choices=tuple(f" {choice}" for choice in choices),
            )
        return Request(
            module=module,
            prompt=f"\n\n{filled}",
            prefix=prompt.prefix(tools),
            max_new_tokens=self.max_new_tokens[module],
            stop=(),
            choices=tuple(choices),
            messages=prompt.messages(tools, filled, list_tools=list_tools, examples=examples),
            tools=tuple(tools) if native_tools else (),
        )


def token_budgets(defaults: Mapping[str, int], own: Mapping[str, Any]) -> dict[str, int]:
    """Token budget per module, the user's own first. Raises ConfigError for an unknown module or a budget below 1."""
    if not isinstance(own, Mapping):
        raise ConfigError(
            f"agent.options.max_new_tokens: must be given per module, as in {{{next(iter(defaults))}: 32}}"
        )
    problems = [
        f"agent.options.max_new_tokens: there is no module {name!r}; modules are {', '.join(defaults)}"
        for name in own
        if name not in defaults
    ]
    problems += [
        f"agent.options.max_new_tokens.{name}: must be a whole number of at least 1, not {value!r}"
        for name, value in own.items()
        if not isinstance(value, int) or value < 1
    ]
    if problems:
        raise ConfigError(*problems)
    return {**defaults, **own}


def named_tool(completion: Completion, tools: Sequence[ToolSpec]) -> str:
    """The tool that a completion's first word names, in any case; "" when it names none."""
    word = _WORD.search(visible_text(completion.text))
    names = {tool.name.casefold(): tool.name for tool in tools}
    return names.get(word[0].rstrip(".").casefold(), "") if word else ""


def run_call(call: ToolCall, env: Environment) -> ToolResult:
    """Execute a call, or report why there is none to execute: a broken call never runs anything."""
    return ToolResult(False, call.error) if call.error else env.call(call.name, call.arguments)


def shown(result: ToolResult) -> str:
    """A result as later prompts show it: one line, at most `SHOWN` characters, errors marked."""
    text = " ".join(result.output.split())
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return text if result.ok else f"error: {text}"


def did(call: ToolCall, result: ToolResult | None) -> str:
    """A call and its result as the history of a conversation shows them."""
    return f"{call.name or 'no call'}: {shown(result) if result else ''}"


def next_message(env: Environment, answer: str) -> Message | None:
    """What the user says to `answer`; None where there is no more to say."""
    return env.reply(answer) if isinstance(env, Dialogue) else None
