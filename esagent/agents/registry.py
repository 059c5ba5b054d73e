"""The agents that ship, and the user's own."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from esagent.agents.base import Agent
from esagent.agents.chain import ChainAgent
from esagent.agents.modular import ModularAgent
from esagent.agents.modular import agent as modular
from esagent.agents.react import ReactAgent
from esagent.agents.react import agent as react
from esagent.config.files import user_path
from esagent.config.schema import AgentConfig, PromptStyle
from esagent.config.target import build_target
from esagent.errors import ConfigError

AGENTS: Mapping[str, Callable[..., Agent]] = {"modular": ModularAgent, "react": ReactAgent, "chain": ChainAgent}
PROMPTS: Mapping[str, Path] = {"modular": modular.PROMPTS, "react": react.PROMPTS}

PROMPT_SETS: Mapping[str, Mapping[str, Mapping[str, int]]] = {
    "qa": {},
    "bfcl": {
        "modular": {"planner": 96, "selector": 24, "caller": 128, "synthesizer": 8},
        "react": {"policy": 160},
    },
}
"""Prompts for one sort of task, beside an agent's own: token budgets per agent. The files lie in a folder of the set's
name beside the agent's code."""


def prompts_folder(config: AgentConfig) -> Path | None:
    """Where the prompt files of a configured agent lie; None for an agent of the user's own."""
    if config.target:
        return None
    if config.prompts and config.prompts in PROMPT_SETS:
        return PROMPTS[config.name].parent / config.prompts
    return user_path(config.prompts) if config.prompts else PROMPTS[config.name]


def make_agent(config: AgentConfig, style: PromptStyle = PromptStyle.raw) -> Agent:
    """The agent of a configuration.

    style: how the model wants to be asked, `raw` few-shot text or `chat` messages (`auto` is decided by the model).
    `config.target` (my_module:MyAgent) is called with `config.options` alone; the agents that ship take them as further
    keyword arguments (max_new_tokens).
    Raises ConfigError.
    """
    if config.target:
        return _checked(config.target, build_target("agent.target", config.target, config.options))
    make = AGENTS.get(config.name)
    if make is None:
        near = difflib.get_close_matches(config.name, AGENTS, n=1, cutoff=0.0)
        raise ConfigError(f"agent.name: there is no agent {config.name!r}; did you mean {near[0]!r}?")
    settings: dict[str, Any] = {"max_turns": config.max_turns, "style": "chat" if style is PromptStyle.chat else "raw"}
    if folder := config.prompts and prompts_folder(config):
        settings["prompts"] = folder
    if config.constrained:
        if config.name != "modular":
            raise ConfigError(f"agent.constrained: {config.name} asks no closed question; use agent=modular")
        settings["constrained"] = True
    unknown = sorted(set(config.options) - {"max_new_tokens"})
    if unknown:
        raise ConfigError(f"agent.options: {config.name} takes max_new_tokens, not {', '.join(unknown)}")
    return make(**settings, **_options(config, style))


def _options(config: AgentConfig, style: PromptStyle) -> Mapping[str, Any]:
    """The agent's options; a prompt set raises the budgets of raw models, whose own come first."""
    budgets = PROMPT_SETS.get(config.prompts or "", {}).get(config.name, {})
    own = config.options.get("max_new_tokens", {})
    if style is PromptStyle.chat or not budgets or not isinstance(own, Mapping):
        return config.options
    return {**config.options, "max_new_tokens": {**budgets, **own}}


def _checked(target: str, agent: Any) -> Any:
    modules = getattr(agent, "modules", None)
    if not isinstance(modules, tuple) or not modules or not all(isinstance(m, str) and m for m in modules):
        raise ConfigError(f"agent.target: {target} needs `modules`, a tuple with at least one name")
    if len(set(modules)) < len(modules):
        raise ConfigError(f"agent.target: {target} names a module twice: {', '.join(modules)}")
    if not callable(getattr(agent, "run", None)):
        raise ConfigError(f"agent.target: {target} has no method run(task, env)")
    return agent
