"""The examples of the documentation, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from esagent.agents.modular import ModularAgent
from esagent.agents.modular.agent import FIELDS
from esagent.agents.prompts import parse_prompt
from esagent.agents.registry import make_agent
from esagent.config.schema import AgentConfig, TaskConfig
from esagent.core.episode import Request
from esagent.rollout import reward_matrix, rollout
from esagent.tasks.registry import make_family
from tests.agents.scripted import ScriptedBackend

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "bring-your-own.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DOCS / "examples")
    return make_family(TaskConfig(target="my_family:MyFamily"))


def test_the_page_shows_the_example_that_is_tested() -> None:
    example = (DOCS / "examples" / "my_family.py").read_text()
    assert ("python", example) in BLOCKS
    assert len(example.splitlines()) <= 40


def test_own_family_runs_through_the_rollout(family: Any) -> None:
    def answer(request: Request) -> str:
        numbers = re.findall(r"\d+", request.prompt)
        texts = {"planner": request.prompt.split("\n")[-2], "selector": " calculator"}
        texts["caller"] = f" calculator({numbers[0]} * {numbers[1]})"
        return texts.get(request.module, f" {numbers[-1]}")

    tasks = family.tasks("train", 0, 64)
    episodes = rollout(ModularAgent(), family, ScriptedBackend(answer), (), tasks)
    assert reward_matrix(episodes, (), tasks)[0].tolist() == [[1.0] * 64]
    silent = rollout(ModularAgent(), family, ScriptedBackend(lambda request: ""), (), tasks)
    assert {episode.score.reward for episode in silent} == {0.0}


def test_own_family_keeps_the_contract(family: Any) -> None:
    assert family.validate() == []
    assert family.tasks("train", 0, 8) == family.tasks("train", 0, 64)[:8]
    splits = [{task.prompt for task in family.tasks(split, 0, 150)} for split in ("train", "validation", "heldout")]
    assert len(set().union(*splits)) == 450


def test_own_agent_runs_through_the_rollout(family: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = next(text for kind, text in BLOCKS if kind == "python" and "class MyAgent" in text)
    (tmp_path / "my_agent.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    agent = make_agent(AgentConfig(target="my_agent:MyAgent"))
    (episode,) = rollout(agent, family, ScriptedBackend(lambda request: " 12\n"), (), family.tasks("train", 0, 1))
    assert episode.trajectory.answer == "12"
    assert not episode.score.unscored


def test_the_prompt_file_on_the_page_is_one() -> None:
    text = next(text for _, text in BLOCKS if "--- task ---" in text)
    assert parse_prompt(text, FIELDS).template == ("Question: {step}", "Tool:")
