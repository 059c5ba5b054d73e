"""Reference episodes: the gold one of a task, and episodes that must earn nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.core.episode import Completion, Task, ToolCall, Trajectory, Turn
from esagent.tasks.base import Environment

NO_TOOL = "teapot"


def gold_trajectory(task: Task, env: Environment) -> Trajectory:
    """Planner, then selector and caller per gold call, then synthesizer; every call is executed in `env`."""
    plan, answer = tuple(task.payload["plan"]), task.payload["answer"]
    turns = [_turn("planner", task, "; ".join(plan))]
    for gold in task.payload["calls"]:
        call = ToolCall(gold["name"], gold["resolved"])
        turns.append(_turn("selector", task, call.name))
        turns.append(_called("caller", task, env, call))
    turns.append(_turn("synthesizer", task, answer))
    return Trajectory(tuple(turns), answer, plan)


def junk_trajectories(task: Task, env: Environment) -> dict[str, Trajectory]:
    """Episodes without one right tool, by name; among them a right plan and a right answer that nothing supports."""
    plan, answer = tuple(task.payload["plan"]), task.payload["answer"]
    wrong = next(tool.name for tool in task.tools if tool.name != task.payload["calls"][0]["name"])
    values = " ".join([task.prompt, *(f"{rows}" for rows in task.payload["tables"].values())])
    planner = _turn("planner", task, "; ".join(plan))
    words = ("blah " * 20).strip()
    return {
        "empty": Trajectory((), ""),
        "silent": Trajectory(tuple(_turn(m, task, "") for m in ("planner", "selector", "caller", "synthesizer")), ""),
        "plan only": Trajectory((planner,), "", plan),
        "plan and answer": Trajectory((planner, _turn("synthesizer", task, answer)), answer, plan),
        "answer only": Trajectory((_turn("synthesizer", task, answer),), answer),
        "copied question": Trajectory((_turn("synthesizer", task, task.prompt),), task.prompt),
        "every value": Trajectory((planner, _turn("synthesizer", task, values)), values, (values,)),
        "words": Trajectory(
            tuple(_turn(m, task, words) for m in ("planner", "selector", "synthesizer")), words, (words,)
        ),
        "wrong tool": Trajectory(
            (planner, _turn("selector", task, wrong), _called("caller", task, env, ToolCall(wrong, {}))), answer, plan
        ),
        "unknown tool": Trajectory((_called("policy", task, env, ToolCall(NO_TOOL, {"x": values})),), answer),
        "broken call": Trajectory((_called("policy", task, env, ToolCall("", error="no call")),), answer),
    }


def _turn(module: str, task: Task, text: str, **outcome: Any) -> Turn:
    return Turn(module, task.prompt, Completion(text), **outcome)


def _called(module: str, task: Task, env: Environment, call: ToolCall) -> Turn:
    return _turn(
        module, task, call_text(call.name, call.arguments), call=call, result=env.call(call.name, call.arguments)
    )


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as a text model writes it, positional: `list(max, 4, 9)`."""
    values = [", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in arguments.values()]
    return f"{name}({', '.join(values)})"
