"""Reference episodes: the gold one of a task, and episodes that must earn nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from esagent.core.episode import Completion, Task, ToolCall, ToolResult, Trajectory, Turn
from esagent.tasks.base import Dialogue, Environment
from esagent.tasks.bfcl.decline import NONE

DONE = "done"
"""What the synthesizer answers where calls were made: their outputs are not asked for."""

_LONGEST_STEP = 120


def gold_trajectory(task: Task, env: Environment) -> Trajectory:
    """Per message a planner, then a selector and a caller per right call, run in `env`, then a synthesizer.

    Where nothing is to be called, the selector writes "none".
    """
    messages = task.payload.get("messages") or [{"text": task.prompt, "calls": task.payload["calls"]}]
    turns: list[Turn] = []
    plan: list[str] = []
    answer = ""
    for message in messages:
        prompt, calls = message["text"], message["calls"]
        steps = [step_text(call) for call in calls] or [_one_line(prompt)]
        answer = DONE if calls else NONE
        plan += steps
        turns.append(Turn("planner", prompt, Completion("; ".join(steps))))
        for call in calls:
            turns.append(Turn("selector", prompt, Completion(call["name"])))
            turns.append(_called(prompt, env, ToolCall(call["name"], call["arguments"])))
        if not calls:
            turns.append(_nothing(prompt))
        turns.append(Turn("synthesizer", prompt, Completion(answer)))
        if isinstance(env, Dialogue):
            env.reply(answer)
    return Trajectory(tuple(turns), answer, tuple(plan))


def junk_trajectories(task: Task, env: Environment) -> dict[str, Trajectory]:
    """Episodes without one right call, by name; among them a right plan, and a call of every function with nothing."""
    plan = tuple(map(step_text, task.payload["calls"])) or (_one_line(task.prompt),)
    planner = Turn("planner", task.prompt, Completion("; ".join(plan)))
    words = Completion(("blah " * 20).strip())
    silent = tuple(Turn(m, task.prompt, Completion("")) for m in ("planner", "selector", "caller", "synthesizer"))
    talk = tuple(Turn(m, task.prompt, words) for m in ("planner", "selector", "synthesizer"))
    right = {call["name"] for call in task.payload["calls"]}
    wrong = [tool.name for tool in task.tools if tool.name not in right]
    return {
        "empty": Trajectory((), ""),
        "silent": Trajectory(silent, ""),
        "plan only": Trajectory((planner,), "", plan),
        "plan and answer": Trajectory((planner, Turn("synthesizer", task.prompt, Completion(DONE))), DONE, plan),
        "copied question": Trajectory((Turn("policy", task.prompt, Completion(task.prompt)),), task.prompt),
        "words": Trajectory(talk, words.text, (words.text,)),
        "broken call": Trajectory((_called(task.prompt, env, ToolCall("", error="no call"), "policy"),), DONE),
        "wrong tools": Trajectory(
            tuple(_called(task.prompt, env, ToolCall(name, {}), "policy") for name in wrong), "done"
        ),
    }


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as a model writes it, on one line: `area(base=10, unit="cm")`."""
    return f"{name}({', '.join(f'{key}={json.dumps(value, ensure_ascii=False)}' for key, value in arguments.items())})"


def step_text(call: Mapping[str, Any]) -> str:
    """A right call as a step of a plan, in words: `calculate triangle area, base 10, height 5`."""
    name = re.sub(r"[._\-]+", " ", call["name"])
    values = (f"{key.replace('_', ' ')} {_words(value)}" for key, value in call["arguments"].items())
    return _one_line(", ".join([name, *values]))


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    """`text` as one step of a plan: no line break, no ";", at most `_LONGEST_STEP` characters."""
    line = " ".join(text.replace(";", ",").split())
    return line if len(line) <= _LONGEST_STEP else line[:_LONGEST_STEP].rpartition(" ")[0]


def _called(prompt: str, env: Environment, call: ToolCall, module: str = "caller") -> Turn:
    result = ToolResult(False, call.error) if call.error else env.call(call.name, call.arguments)
    return Turn(module, prompt, Completion(call_text(call.name, call.arguments)), call, result)


def _nothing(prompt: str) -> Turn:
    """The selector names nothing; agents take that for a call that cannot be made."""
    error = "no tool fits"
    return Turn("selector", prompt, Completion(NONE), ToolCall("", error=error), ToolResult(False, error))
