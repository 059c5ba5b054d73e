"""What every agent owes: it never raises over model text, it ends, it is pure, and its requests are well formed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.agents.base import Agent
from esagent.agents.chain import ChainAgent
from esagent.agents.modular import ModularAgent
from esagent.agents.react import ReactAgent
from esagent.core.episode import Completion, Request, Task, Trajectory
from tests.agents.scripted import TOOLS, Arithmetic

AGENTS: dict[str, tuple[Callable[[], Agent], int]] = {
    "modular": (lambda: ModularAgent(max_turns=2), 6),
    "modular-constrained": (lambda: ModularAgent(max_turns=2, constrained=True), 6),
    "modular-chat": (lambda: ModularAgent(max_turns=2, style="chat"), 6),
    "react": (lambda: ReactAgent(max_turns=2), 3),
    "chain": (ChainAgent, 4),
    "react-chat": (lambda: ReactAgent(max_turns=2, style="chat"), 3),
}
"""How to make each agent, and the most requests of an episode with two calls."""

TASK = Task("t", "sums", "train", "Add 1 and 2.", TOOLS)
TEXTS = st.sampled_from(
    [
        "add",
        " times",
        "add(1, 2)",
        "Action: add(1, 2)",
        "Answer: 3",
        '{"name": "add"}',
        "<tool_call>",
        "add(1,",
        ", ,",
        "",
    ]
)
COMPLETIONS = st.builds(Completion, st.one_of(TEXTS, st.text()), st.sampled_from(["stop", "length", "nonfinite"]))


def drive(agent: Agent, completions: Sequence[Completion], task: Task = TASK) -> tuple[Trajectory, list[Request]]:
    """Run one episode with these completions, empty ones when they run out."""
    run, requests, supply = agent.run(task, Arithmetic()), [], iter(completions)
    try:
        requests.append(next(run))
        while len(requests) < 100:
            requests.append(run.send(next(supply, Completion(""))))
    except StopIteration as end:
        return end.value, requests
    raise AssertionError("the episode does not end")


@pytest.fixture(params=AGENTS, scope="module")
def case(request: pytest.FixtureRequest) -> tuple[Agent, int]:
    make, bound = AGENTS[request.param]
    return make(), bound


def test_modules(case: tuple[Agent, int]) -> None:
    modules = case[0].modules
    assert modules
    assert len(set(modules)) == len(modules)
    assert all(modules)


@given(st.lists(COMPLETIONS, max_size=8))
@settings(max_examples=150)
def test_survives_any_model_and_ends_in_time(case: tuple[Agent, int], completions: list[Completion]) -> None:
    agent, bound = case
    trajectory, requests = drive(agent, completions)
    assert len(requests) <= bound
    assert len(trajectory.turns) == len(requests)
    assert [turn.module for turn in trajectory.turns] == [request.module for request in requests]
    assert {request.module for request in requests} <= set(agent.modules)
    for turn in trajectory.turns:
        assert (turn.call is None) == (turn.result is None)
        if turn.call and turn.call.error:
            assert turn.result
            assert not turn.result.ok


@given(st.lists(COMPLETIONS, max_size=8))
@settings(max_examples=20)
def test_is_a_function_of_its_completions(case: tuple[Agent, int], completions: list[Completion]) -> None:
    assert drive(case[0], completions) == drive(case[0], completions)


def test_prefix_is_shared_and_ends_where_tokens_end(case: tuple[Agent, int]) -> None:
    other = Task("u", "sums", "train", "Add 7 and 9.", TOOLS)
    _, first = drive(case[0], [])
    _, second = drive(case[0], [], other)
    assert {(r.module, r.prefix) for r in first} == {(r.module, r.prefix) for r in second}
    if isinstance(case[0], ChainAgent) and not any(request.prefix for request in first):
        pytest.skip("the chain has no few-shot text to share")
    for request in (*first, *second):
        assert request.prefix == request.prefix.rstrip() != ""
        assert request.prompt.startswith("\n\n")
        assert request.prompt == request.prompt.rstrip()
    assert "Add 7 and 9." in second[0].prompt


def test_a_task_without_tools_is_answered_without_calls(case: tuple[Agent, int]) -> None:
    trajectory, requests = drive(case[0], [Completion("add(1, 2)")] * 9, Task("v", "qa", "train", "Why?"))
    assert all(turn.call is None for turn in trajectory.turns)
    assert len(requests) == len(case[0].modules) if len(case[0].modules) == 1 else 2
