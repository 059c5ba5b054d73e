"""Gold episodes: what an agent is asked and should answer, from the family's gold; or one line why there is none."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esagent.agents.modular import ModularAgent
from esagent.agents.react import ReactAgent
from esagent.core.episode import Completion, Request, Task, Trajectory, Turn
from esagent.errors import ConfigError
from esagent.gold import gold_episode, require_gold
from esagent.tasks.toolbox import ToolboxFamily
from tests.helpers.vector import EchoAgent, EchoFamily
from tests.tasks.families import jsonl_rows


@pytest.mark.parametrize("style", ["raw", "chat"])
@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_led_by_gold_the_modular_agent_earns_everything(level: str, style: str) -> None:
    family, agent = ToolboxFamily(level), ModularAgent(style=style)  # type: ignore[arg-type]
    for task in family.tasks("train", 3, 40):
        gold = gold_episode(agent, family, task)
        score = family.score(task, gold.trajectory)
        assert (score.reward, score.success) == (1.0, True)
        assert [r.module for r in gold.requests] == [turn.module for turn in family.gold(task).turns]
        assert [turn.completion.text for turn in gold.trajectory.turns] == list(gold.texts)
        assert all(text.startswith(" ") == (style == "raw") for text in gold.texts)
        assert gold.texts[-1].strip() == task.payload["answer"]


def test_raw_outputs_read_like_the_examples_of_the_prompt() -> None:
    family, agent = ToolboxFamily("easy"), ModularAgent(constrained=True)
    for task in family.tasks("train", 4, 20):
        gold = gold_episode(agent, family, task)
        for request, text in zip(gold.requests, gold.texts, strict=True):
            assert "\n" not in text
            if request.module == "selector":
                assert text in request.choices
            if request.module == "caller":
                assert f"{request.prompt}{text}".splitlines()[-1].startswith("Call: ")


def test_an_agent_of_ones_own_writes_what_the_gold_turns_say() -> None:
    family = EchoFamily()
    (task,) = family.tasks("train", 0, 1)
    gold = gold_episode(EchoAgent(), family, task)
    assert [r.prompt for r in gold.requests] == [f"finder: {task.prompt}", f"writer: {task.prompt}"]
    assert gold.texts == (task.prompt, task.prompt)


class Odd(EchoFamily):
    """Gold turns of any kind."""

    def __init__(self, *turns: tuple[str, str] | Exception) -> None:
        super().__init__()
        self.turns = turns

    def gold(self, task: Task) -> Trajectory:
        for turn in self.turns:
            if isinstance(turn, Exception):
                raise turn
        return Trajectory(tuple(Turn(m, "", Completion(text)) for m, text in self.turns), "")  # type: ignore[misc]


def anything_fits(request: Request, text: str) -> str:
    return ""


@pytest.mark.parametrize(("turns", "says"), [
    ((), "nothing more where the agent asks its finder"),
    ([("finder", "word")], "nothing more where the agent asks its writer"),
    ([("writer", "word")], "one of writer where the agent asks its finder"),
    ([("finder", "?"), ("writer", "word")], "through task train-0 after 1 of its outputs"),
    ([("finder", "word"), ("writer", "word"), ("writer", "word")], "after 2 of its outputs"),
    ([("finder", " \n")], "that of finder in task train-0 is empty"),
    ([KeyError("plan\nof two lines")], "task train-0: KeyError: 'plan"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(turns: Any, says: str) -> None:
    family = Odd(*turns)
    with pytest.raises(ConfigError) as told:
        require_gold(EchoAgent(), family, family.tasks("train", 0, 3), anything_fits)
    (line,) = told.value.problems
    assert line.startswith("objective=likelihood: echo has no gold outputs for this agent: ")
    assert says in line
    assert "\n" not in line
    assert line.endswith("objective=reward, or a family and an agent that fit")


def test_a_gold_output_beyond_the_models_context_is_refused() -> None:
    family = EchoFamily()
    tasks = family.tasks("train", 0, 4)

    def overflow(request: Request, text: str) -> str:
        return "too long" if request.module == "writer" and text == tasks[2].prompt else ""

    require_gold(EchoAgent(), family, tasks[:2], overflow)
    with pytest.raises(ConfigError) as told:
        require_gold(EchoAgent(), family, tasks, overflow)
    assert told.value.problems == ("objective=likelihood: task train-2, module writer: too long",)


def test_families_and_agents_that_have_none() -> None:
    toolbox, rows = ToolboxFamily("medium"), jsonl_rows()
    path = Path(__file__).parents[1] / "docs" / "examples" / "my_family.py"
    spec = importlib.util.spec_from_file_location("my_family", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for agent, family in (
        (ReactAgent(), toolbox),
        (ModularAgent(max_turns=1), toolbox),
        (ModularAgent(), rows),
        (ModularAgent(), module.MyFamily()),
    ):
        with pytest.raises(ConfigError, match=f"{family.name} has no gold outputs for this agent"):
            require_gold(agent, family, family.tasks("train", 0, 12), anything_fits)


def test_a_gold_episode_runs_its_tools_for_real() -> None:
    family, agent = ToolboxFamily("hard"), ModularAgent()
    task = next(t for t in family.tasks("train", 5, 40) if len(t.payload["calls"]) > 1)
    first, second = [turn for turn in gold_episode(agent, family, task).trajectory.turns if turn.module == "caller"][:2]
    assert first.result is not None
    assert first.result.output == task.payload["calls"][0]["result"]
    assert first.result.output in second.prompt
    changed = replace(task, payload={**task.payload, "tables": {}})
    assert gold_episode(agent, family, changed).requests[0] == gold_episode(agent, family, task).requests[0]
