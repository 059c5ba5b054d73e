"""A perfect model gets a perfect score: agent, parser, tools and scorer fit together at every level and split."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from esagent.agents.base import Agent
from esagent.agents.modular import ModularAgent
from esagent.agents.react import ReactAgent
from esagent.core.episode import Request, Task, ToolCall, Turn
from esagent.rollout import rollout
from esagent.tasks.base import Split
from esagent.tasks.toolbox import ToolboxFamily
from tests.agents.scripted import ScriptedBackend

LEVELS = ("easy", "medium", "hard")
SPLITS: tuple[Split, ...] = ("train", "validation", "heldout")


def as_json(call: ToolCall) -> str:
    return json.dumps({"name": call.name, "arguments": dict(call.arguments)})


def hermes(call: ToolCall) -> str:
    return f"<tool_call>\n{as_json(call)}\n</tool_call>"


def tagged(call: ToolCall) -> str:
    values = {key: value if isinstance(value, str) else json.dumps(value) for key, value in call.arguments.items()}
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function={call.name}>\n{parameters}</function>\n</tool_call>"


def keywords(call: ToolCall) -> str:
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


def replay(agent: Agent, family: ToolboxFamily, task: Task, write: Callable[[Turn], str]) -> float:
    """The reward of an episode in which every module says what the gold trajectory says, written by `write`."""
    turns: Iterator[Turn] = iter(family.gold(task).turns)

    def answer(request: Request) -> str:
        turn = next(turns)
        assert turn.module == request.module
        return write(turn)

    (episode,) = rollout(agent, family, ScriptedBackend(answer), (), [task])
    return episode.score.reward


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("level", LEVELS)
def test_gold_text_of_raw_models(level: str, split: Split) -> None:
    family, agent = ToolboxFamily(level), ModularAgent()
    for task in family.tasks(split, 7, 60):
        assert replay(agent, family, task, lambda turn: f" {turn.completion.text}") == 1.0, task


@pytest.mark.parametrize("form", [as_json, hermes, tagged, keywords])
def test_gold_calls_in_every_other_form(form: Callable[[ToolCall], str]) -> None:
    family, agent = ToolboxFamily("hard"), ModularAgent(style="chat")
    for task in family.tasks("heldout", 8, 40):
        write = lambda turn: form(turn.call) if turn.call else turn.completion.text  # noqa: E731
        assert replay(agent, family, task, write) == 1.0, task


@pytest.mark.parametrize("style", ["raw", "chat"])
def test_gold_loop_of_react(style: str) -> None:
    family, agent = ToolboxFamily("hard"), ReactAgent(style=style)  # type: ignore[arg-type]
    for task in family.tasks("train", 9, 40):
        gold = family.gold(task)
        said = [turn.completion.text for turn in gold.turns if turn.call]
        texts = iter([f" Next.\nAction: {text}" for text in said] + [f" Done.\nAnswer: {gold.answer}"])
        if len(said) == agent.max_turns:
            texts = iter([f" Next.\nAction: {text}" for text in said] + [f" {gold.answer}"])
        (episode,) = rollout(agent, family, ScriptedBackend(lambda request, texts=texts: next(texts)), (), [task])
        assert episode.score.reward == 1.0, (task, episode)
