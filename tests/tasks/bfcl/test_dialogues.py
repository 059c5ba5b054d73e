"""Conversations over simulated APIs: state of their own, calls that are never code, scores by hand, both agents."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import pytest

from esagent.agents.base import Agent
from esagent.agents.registry import make_agent
from esagent.config.schema import AgentConfig, PromptStyle
from esagent.core.episode import Completion, Request, Task, ToolCall, Trajectory, Turn
from esagent.rollout import rollout
from esagent.tasks.bfcl.dialogue_score import segments
from esagent.tasks.bfcl.environments import DialogueEnvironment
from esagent.tasks.bfcl.episodes import call_text
from esagent.tasks.bfcl.family import BfclFamily
from esagent.tasks.bfcl.simulators import MAX_NUMBER, Simulators
from tests.agents.scripted import ScriptedBackend

FAMILY = BfclFamily(["multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param"])
TASKS = {task.id: task for split, n in (("train", 141), ("validation", 95)) for task in FAMILY.tasks(split, 0, n)}
BASE = next(task for task in TASKS.values() if [len(m["calls"]) for m in task.payload["messages"]] == [1, 1, 2])
WITHHELD = next(
    task
    for task in TASKS.values()
    if "miss_func" in task.id and [] in [m["calls"] for m in task.payload["messages"][1:]]
)


def test_every_episode_has_a_state_of_its_own() -> None:
    config = {"GorillaFileSystem": {"root": {"home": {"type": "directory", "contents": {}}}}}
    one, other = (Simulators(["GorillaFileSystem"], config) for _ in range(2))
    before = other.state()
    assert one.call("mkdir", {"dir_name": "new"}).ok
    assert other.state() == before != one.state()
    assert Simulators(["GorillaFileSystem"], config).state() == before


def test_calls_are_names_and_values_never_code() -> None:
    files = Simulators(["GorillaFileSystem", "MathAPI"], {})
    for name in ("_load_scenario", "__init__", "__class__", "mkdir('x') or cd", "os.system", "eval"):
        assert not files.call(name, {}).ok
    assert files.call("mkdir", {"dir_name": "__import__('os').getcwd()"}).output.find("/") < 0
    assert not files.call("add", {"a": 1, "b": 2, "c": 3}).ok
    assert files.call("add", {"a": 1, "b": 2}).output == '{"result": 3}'


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("power", {"base": 10, "exponent": 10**9}),
        ("power", {"base": 10**400, "exponent": 2}),
        ("power", {"base": float("nan"), "exponent": 2}),
        ("square_root", {"number": 2, "precision": 10**7}),
        ("mean", {"numbers": [1] * 2000}),
        ("mean", {"numbers": [[[[[[[[[[1]]]]]]]]]]}),
        ("add", {"a": MAX_NUMBER + 1, "b": 1}),
    ],
)
def test_what_would_compute_for_ever_is_refused(name: str, arguments: dict[str, Any]) -> None:
    result = Simulators(["MathAPI"], {}).call(name, arguments)
    assert not result.ok
    assert "larger" in result.output


def test_number_libraries_are_left_as_they_were() -> None:
    before = mpmath.mp.dps, decimal.getcontext().prec
    numbers = Simulators(["MathAPI"], {})
    assert numbers.call("square_root", {"number": 2, "precision": 50}).ok
    assert numbers.call("logarithm", {"value": 2, "base": 3, "precision": 40}).ok
    assert (mpmath.mp.dps, decimal.getcontext().prec) == before


def test_a_function_is_there_only_once_it_is_offered() -> None:
    messages = WITHHELD.payload["messages"]
    late = next(at for at, message in enumerate(messages) if at and not messages[at - 1]["calls"])
    call = messages[late]["calls"][0]
    missing = next(name for name in messages[late - 1]["withheld"] if name not in messages[late]["withheld"])
    env = DialogueEnvironment(WITHHELD.payload)
    assert missing not in {tool.name for tool in WITHHELD.tools}
    assert env.call(missing, call["arguments"]).output == f"there is no tool '{missing}'"
    for _ in range(late):
        message = env.reply("done")
    assert message
    assert missing in {tool.name for tool in message.tools}
    while message:
        message = env.reply("done")


def played(task: Task, change: Callable[[int, list[dict]], list[dict]]) -> Trajectory:
    """A modular episode that makes the right calls, those of message i as `change` gives them."""
    env, turns = FAMILY.env(task), []
    for at, message in enumerate(task.payload["messages"]):
        turns.append(Turn("planner", "", Completion("")))
        for call in change(at, list(message["calls"])):
            result = env.call(call["name"], call["arguments"])
            turns.append(Turn("selector", "", Completion(call["name"])))
            turns.append(Turn("caller", "", Completion(""), ToolCall(call["name"], call["arguments"]), result))
        turns.append(Turn("synthesizer", "", Completion("done")))
        env.reply("done")
    return Trajectory(tuple(turns), "done")


def test_all_messages_dealt_with() -> None:
    score = FAMILY.score(BASE, played(BASE, lambda at, calls: calls))
    assert (score.reward, score.success) == (1.0, True)
    assert set(score.signals.values()) == {1.0}


def test_a_message_without_its_call_ends_what_counts() -> None:
    score = FAMILY.score(BASE, played(BASE, lambda at, calls: [] if at == 1 else calls))
    assert score.reward == pytest.approx(1 / 3)
    assert score.signals["planner"] == pytest.approx(0.5)
    assert score.reason == "message 2: planner"


def test_part_of_a_message_earns_part_of_it() -> None:
    score = FAMILY.score(BASE, played(BASE, lambda at, calls: calls[:1] if at == 2 else calls))
    part = 0.1 / 2 + 0.3 / 2 + 0.6 / 2
    assert score.reward == pytest.approx((2 + part / 2) / 3)
    assert score.signals == {"planner": pytest.approx(2.5 / 3), "selector": 1.0, "caller": 1.0}


def test_right_calls_in_the_wrong_order_are_the_planners() -> None:
    ordered = next(t for t in TASKS.values() if t.payload["messages"][0]["calls"][0:1] and _order_counts(t))
    score = FAMILY.score(ordered, played(ordered, lambda at, calls: calls if at else calls[::-1]))
    wanting = sum(bool(message["calls"]) for message in ordered.payload["messages"])
    assert score.reward == pytest.approx(0.9 / 2 / wanting)
    assert score.signals == {"planner": 0.0, "selector": 1.0, "caller": 1.0}
    assert score.reason == "message 1: order of the calls"


def _order_counts(task: Task) -> bool:
    """Whether the first message begins by going to another folder, where the rest happens."""
    calls = task.payload["messages"][0]["calls"]
    return [call["name"] for call in calls[:2]] == ["cd", "mkdir"]


def test_a_call_where_nothing_can_be_done_is_the_selectors() -> None:
    messages = WITHHELD.payload["messages"]
    idle = next(at for at, message in enumerate(messages) if at and not message["calls"])
    again = messages[0]["calls"][:1]
    score = FAMILY.score(WITHHELD, played(WITHHELD, lambda at, calls: again if at == idle and again else calls))
    assert 0 < score.reward < 1
    assert score.reason == f"message {idle + 1}: a call was made where nothing can be done"


def test_turns_are_told_apart_by_their_answers() -> None:
    turn = [Turn(module, "", Completion(""), call) for module, call in _STORY]
    assert [[t.module for t in part] for part in segments(turn, 3)] == [
        ["planner", "selector", "caller", "synthesizer"],
        ["policy", "policy"],
        ["policy", "policy"],
    ]


CALL = ToolCall("f")
_STORY = [
    *(("planner", None), ("selector", None), ("caller", CALL), ("synthesizer", None)),
    *(("policy", CALL), ("policy", None), ("policy", None), ("policy", None)),
]


def _modular(task: Task) -> Callable[[Request], str]:
    turns: Iterator[Turn] = iter(FAMILY.gold(task).turns)

    def answer(request: Request) -> str:
        turn = next(turns)
        assert turn.module == request.module
        return turn.completion.text

    return answer


def _react(task: Task, chat: bool) -> Callable[[Request], str]:
    said: list[str] = []
    for message in task.payload["messages"]:
        calls = [call_text(call["name"], call["arguments"]) for call in message["calls"]]
        said += [text if chat else f" I call.\nAction: {text}" for text in calls]
        said.append("done" if chat else " All is done.\nAnswer: done")
    words = iter(said)
    return lambda request: next(words)


@pytest.mark.parametrize("style", [PromptStyle.raw, PromptStyle.chat])
@pytest.mark.parametrize("name", ["modular", "react"])
def test_both_agents_hold_whole_conversations(name: str, style: PromptStyle) -> None:
    agent: Agent = make_agent(AgentConfig(name=name, prompts="bfcl", max_turns=8), style)
    for task in (BASE, WITHHELD):
        answer = _modular(task) if name == "modular" else _react(task, style is PromptStyle.chat)
        backend = ScriptedBackend(answer)
        (episode,) = rollout(agent, FAMILY, backend, (), [task])
        assert episode.score.reward == 1.0, episode.score
        last = backend.batches[-1][0]
        shown = "".join(m.content for m in last.messages) if last.messages else last.prompt
        assert task.payload["messages"][-1]["text"] in shown
