"""Making agents from configurations, the user's own among them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from esagent.agents.modular import ModularAgent
from esagent.agents.modular.agent import PROMPTS
from esagent.agents.react import ReactAgent
from esagent.agents.registry import make_agent
from esagent.config.schema import AgentConfig, PromptStyle
from esagent.core.episode import Task
from esagent.errors import ConfigError
from tests.agents.scripted import TOOLS, Arithmetic

OWN = """
from esagent.core.episode import Trajectory

class Mine:
    modules = ("mind",)
    def __init__(self, depth=1): self.depth = depth
    def run(self, task, env):
        yield
        return Trajectory((), "")

class NoModules(Mine):
    modules = ()

class Twice(Mine):
    modules = ("a", "a")

class NoRun:
    modules = ("a",)

number = 3
"""


def first_request(agent: Any) -> Any:
    return next(agent.run(Task("t", "sums", "train", "Add 1 and 2.", TOOLS), Arithmetic()))


def test_shipped_agents() -> None:
    modular = make_agent(AgentConfig(max_turns=1, constrained=True))
    assert isinstance(modular, ModularAgent)
    assert (modular.max_turns, modular.constrained) == (1, True)
    assert isinstance(make_agent(AgentConfig(name="react")), ReactAgent)


def test_prompt_style_decides_between_text_and_messages() -> None:
    assert first_request(make_agent(AgentConfig())).messages == ()
    assert first_request(make_agent(AgentConfig(), PromptStyle.chat)).messages


def test_token_budgets_can_be_set_per_module() -> None:
    config = AgentConfig(options={"max_new_tokens": {"planner": 5}})
    assert first_request(make_agent(config)).max_new_tokens == 5


def test_prompts_of_ones_own(tmp_path: Path) -> None:
    shutil.copytree(PROMPTS, tmp_path / "mine")
    (tmp_path / "mine" / "planner.txt").write_text("Think.\n--- task ---\nQ: {question}\nSteps:")
    request = first_request(make_agent(AgentConfig(prompts=str(tmp_path / "mine"))))
    assert (request.prefix, request.prompt) == ("Think.", "\n\nQ: Add 1 and 2.\nSteps:")


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (AgentConfig(name="modula"), "did you mean 'modular'"),
        (AgentConfig(name="react", constrained=True), "react asks no closed question"),
        (AgentConfig(options={"depth": 2}), "modular takes max_new_tokens, not depth"),
        (AgentConfig(options={"max_new_tokens": {"plan": 3, "caller": 0}}), "there is no module 'plan'"),
        (AgentConfig(options={"max_new_tokens": {"caller": 0}}), "must be a whole number of at least 1, not 0"),
        (AgentConfig(prompts="/nowhere"), "/nowhere is not a folder"),
    ],
)
def test_refuses(config: AgentConfig, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make_agent(config)


def test_own_agent_gets_its_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_agents.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/"])
    agent: Any = make_agent(AgentConfig(target="own_agents:Mine", options={"depth": 4}))
    assert (agent.modules, agent.depth) == (("mind",), 4)


@pytest.mark.parametrize(
    ("target", "options", "problem"),
    [
        ("own_agents2", {}, "not of the form my_module:MyClass"),
        ("own_agents2:", {}, "not of the form"),
        ("no_such_module:Mine", {}, "cannot import 'no_such_module': ModuleNotFoundError"),
        ("broken_agents:Mine", {}, "cannot import 'broken_agents': ZeroDivisionError"),
        ("own_agents2:Nine", {}, "has no class 'Nine'; it has Trajectory, Mine"),
        ("own_agents2:number", {}, "has no class 'number'"),
        ("own_agents2:Mine", {"width": 1}, "fails: TypeError: .*width"),
        ("own_agents2:NoModules", {}, "needs `modules`"),
        ("own_agents2:Twice", {}, "names a module twice"),
        ("own_agents2:NoRun", {}, "has no method run"),
    ],
)
def test_own_agent_that_does_not_fit_is_one_clear_line(
    target: str, options: dict[str, Any], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_agents2.py").write_text(OWN)
    (tmp_path / "broken_agents.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=problem) as error:
        make_agent(AgentConfig(target=target, options=options))
    assert "\n" not in str(error.value)
