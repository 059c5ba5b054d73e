"""Episodes that must earn nothing."""

from __future__ import annotations

from typing import Any

from esagent.core.episode import Completion, Task, ToolCall, Trajectory, Turn
from esagent.tasks.base import Environment

_MODULES = ("planner", "selector", "caller", "synthesizer")


def junk_trajectories(task: Task, env: Environment) -> dict[str, Trajectory]:
    """Episodes without one right tool, by name; among them a right plan and a right answer that nothing supports."""
    plan, answer = tuple(task.payload["plan"]), task.payload["answer"]
    everything = " ".join([task.prompt, answer, *(call["result"] for call in task.payload["calls"])])
    planner = _turn("planner", "; ".join(plan))
    words = ("blah " * 20).strip()
    found = {
        "empty": Trajectory((), ""),
        "silent": Trajectory(tuple(_turn(module, "") for module in _MODULES), ""),
        "plan only": Trajectory((planner,), "", plan),
        "plan and answer": Trajectory((planner, _turn("synthesizer", answer)), answer, plan),
        "answer only": Trajectory((_turn("synthesizer", answer),), answer),
        "copied question": Trajectory((_turn("synthesizer", task.prompt),), task.prompt),
        "everything": Trajectory((planner, _turn("synthesizer", everything)), everything, (everything,)),
        "words": Trajectory(tuple(_turn(m, words) for m in ("planner", "selector", "synthesizer")), words, (words,)),
        "unknown tool": Trajectory((_called(env, ToolCall("teapot", {"query": answer})),), answer),
        "broken call": Trajectory((_called(env, ToolCall("", error="no call")),), answer),
    }
    wrong = next((tool.name for tool in task.tools if tool.name != task.payload["calls"][0]["name"]), None)
    if wrong:
        called = _called(env, ToolCall(wrong, {"query": task.payload["start"]}), "caller")
        found["wrong section"] = Trajectory((planner, _turn("selector", wrong), called), answer, plan)
    return found


def _turn(module: str, text: str, **outcome: Any) -> Turn:
    return Turn(module, "", Completion(text), **outcome)


def _called(env: Environment, call: ToolCall, module: str = "policy") -> Turn:
    return _turn(module, f"{call.name}()", call=call, result=env.call(call.name, call.arguments))
