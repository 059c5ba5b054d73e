"""The family as a whole: gold outputs through both agents, prompts without held-out functions, and what is missing."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from esagent.agents.base import Agent
from esagent.agents.registry import PROMPT_SETS, make_agent, prompts_folder
from esagent.agents.toolcalls import parse_calls
from esagent.config import names
from esagent.config.compose import compose
from esagent.config.schema import AgentConfig, PromptStyle, TaskConfig
from esagent.core.episode import Completion, Request, Task, ToolCall, Turn
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.gold import gold_episode
from esagent.rollout import rollout
from esagent.tasks.bfcl import package
from esagent.tasks.bfcl.accepted import right_arguments
from esagent.tasks.bfcl.dialogues import DIALOGUES, dialogue_rows
from esagent.tasks.bfcl.environments import QuestionEnvironment
from esagent.tasks.bfcl.episodes import call_text
from esagent.tasks.bfcl.family import CATEGORIES, SPLITS, BfclFamily
from esagent.tasks.bfcl.filtered import BAD
from esagent.tasks.bfcl.rows import QUESTIONS, Row, question_rows
from esagent.tasks.registry import make_family
from tests.agents.scripted import ScriptedBackend

ROOT = Path(__file__).parents[3]
FAMILY = BfclFamily()
TASKS = [task for split in SPLITS for task in FAMILY.tasks(split, 0, 60)]


def agent(name: str, style: PromptStyle) -> Agent:
    return make_agent(AgentConfig(name=name, prompts="bfcl", max_turns=8), style)


@pytest.mark.parametrize("style", [PromptStyle.raw, PromptStyle.chat])
def test_gold_outputs_lead_the_modular_agent_to_a_full_score(style: PromptStyle) -> None:
    for task in TASKS:
        gold = gold_episode(agent("modular", style), FAMILY, task)
        assert FAMILY.score(task, gold.trajectory).reward == 1.0, task


def said(task: Task, style: PromptStyle) -> Iterator[str]:
    """What a perfect single policy writes."""
    for call in task.payload["calls"]:
        if style is PromptStyle.raw:
            yield f" I call it.\nAction: {call_text(call['name'], call['arguments'])}"
        else:
            yield f"<tool_call>\n{json.dumps(call)}\n</tool_call>"
    answer = "done" if task.payload["calls"] else "none"
    yield f" That is all.\nAnswer: {answer}" if style is PromptStyle.raw else answer


@pytest.mark.parametrize("style", [PromptStyle.raw, PromptStyle.chat])
def test_a_perfect_single_policy_scores_fully(style: PromptStyle) -> None:
    policy = agent("react", style)
    for task in TASKS:
        words = said(task, style)
        (episode,) = rollout(policy, FAMILY, ScriptedBackend(lambda request: next(words)), (), [task])  # noqa: B023
        assert episode.score.reward == 1.0, (task, episode.score)


def test_prompts_show_the_tools_and_their_arguments() -> None:
    task = next(task for task in TASKS if len(task.tools) > 1 and task.payload["calls"])
    asked: list[Request] = []
    turns = iter(FAMILY.gold(task).turns)

    def answer(request: Request) -> str:
        asked.append(request)
        return next(turns).completion.text

    rollout(agent("modular", PromptStyle.raw), FAMILY, ScriptedBackend(answer), (), [task])
    selector, caller = (next(r for r in asked if r.module == module) for module in ("selector", "caller"))
    called = task.payload["calls"][0]["name"]
    assert all(f"{tool.name}(" in selector.prompt for tool in task.tools)
    (spec,) = (tool for tool in task.tools if tool.name == called)
    assert all(re.search(rf"^{name} \(\w+", caller.prompt, re.MULTILINE) for name in spec.parameters["properties"])


def test_every_right_call_is_read_back_from_its_text() -> None:
    for task in TASKS:
        for call in task.payload["calls"]:
            text = call_text(call["name"], call["arguments"])
            assert parse_calls(Completion(text), task.tools) == (ToolCall(call["name"], call["arguments"]),)


def test_examples_of_the_prompts_are_about_no_function_of_the_data() -> None:
    functions = {tool.name for split in SPLITS for task in FAMILY._rows[split] for tool in task.tools}
    for name in ("modular", "react"):
        folder = prompts_folder(AgentConfig(name=name, prompts="bfcl"))
        assert folder
        shown = {
            word
            for file in folder.glob("*.txt")
            for word in re.findall(r"^(?:Tools?: )?([\w.]+)\(", file.read_text(), re.M)
        }
        assert len(shown) >= 3
        assert shown & functions == set()


def test_sets_of_prompts_are_those_that_are_named() -> None:
    assert set(names.PROMPT_SETS) == set(PROMPT_SETS)


def out_of_reach(row: Row) -> bool:
    """Whether an agent cannot make the right calls, or they would not pass."""
    if "messages" in row.payload:
        messages = row.payload["messages"]
        early = any(call["name"] in message["withheld"] for message in messages for call in message["calls"])
        return early or max(len(message["calls"]) for message in messages) > MOST_CALLS
    env, described = QuestionEnvironment(row.tools), row.payload["described"]
    return any(
        not env.call(call["name"], call["arguments"]).ok
        or right_arguments(accepted, call["arguments"], described[call["name"]]) < 1
        for call, accepted in zip(row.payload["calls"], row.payload["accepted"], strict=True)
    )


MOST_CALLS = 8
"""As many as conf/task/bfcl.yaml gives an agent turns."""


def test_the_rows_left_out_are_just_those_out_of_reach() -> None:
    rows = [row for category in QUESTIONS for row in question_rows(category, keep=True)]
    rows += [row for name in DIALOGUES for split in SPLITS for row in dialogue_rows(name, split, keep=True)]
    assert {row.id for row in rows if out_of_reach(row)} == set(BAD)
    assert compose(["task=bfcl"]).agent.max_turns == MOST_CALLS


def test_the_page_lists_every_row_that_is_left_out() -> None:
    page = (ROOT / "docs" / "tasks-bfcl.md").read_text()
    for row, why in BAD.items():
        assert f"| `{row}` | {why} |" in page
    assert package.INSTALL in page


def test_set_up_installs_the_version_that_is_asked_for() -> None:
    assert f"BFCL := {package.PACKAGE}=={package.VERSION}" in (ROOT / "Makefile").read_text()


def test_without_the_package_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    package.data_folder.cache_clear()
    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(EnvironmentFailure, match=rf"^task=bfcl needs .* not installed: {re.escape(package.INSTALL)}$"):
        package.read_rows("BFCL_v4_multiple.json")


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    package.data_folder.cache_clear()
    monkeypatch.setattr(package, "VERSION", "1999.1.1")
    with pytest.raises(EnvironmentFailure, match=r"needs bfcl-eval 1999.1.1, not \d"):
        package.data_folder()


@pytest.fixture(autouse=True)
def _found_again() -> Iterator[None]:
    yield
    package.data_folder.cache_clear()


@pytest.mark.parametrize("given", ["simple", [], ["simple", "complex"], 7, {"simple": 1}])
def test_bad_categories_are_refused(given: object) -> None:
    with pytest.raises(ConfigError, match=r"^task.options.categories: "):
        make_family(TaskConfig(name="bfcl", options={"categories": given}))


def test_categories_reach_the_family() -> None:
    family = make_family(TaskConfig(name="bfcl", options={"categories": ["parallel"]}))
    assert family.tasks("train", 0, 1)[0].payload["category"] == "parallel"
    assert len(CATEGORIES) == 9


def test_a_turn_of_gold_names_what_is_written() -> None:
    task = next(task for task in TASKS if not task.payload["calls"])
    assert [turn.completion.text for turn in FAMILY.gold(task).turns if isinstance(turn, Turn)][1:] == ["none", "none"]
