"""planner -> (selector -> caller -> tool) per step -> synthesizer.

The four modules follow EvoTool (arXiv 2603.04900). Each has its own few-shot prompt, `prompts/<module>.txt` (the format
is described in esagent/agents/prompts.py), and may own its own parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from esagent.agents.asking import Asker, Style, named_tool, run_call, shown, token_budgets
from esagent.agents.base import Run
from esagent.agents.prompts import load_prompts, signatures
from esagent.agents.toolcalls import CUT, parse_call, visible_text
from esagent.agents.toolcalls.bind import unknown
from esagent.core.episode import Completion, Task, ToolCall, Trajectory, Turn
from esagent.tasks.base import Environment

MODULES = ("planner", "selector", "caller", "synthesizer")
FIELDS = frozenset({"question", "plan", "step", "tool", "signature", "results", "result"})
PROMPTS = Path(__file__).parent / "prompts"

_BULLET = re.compile(r"^\s*(?:\d+[.)]|[-*])\s")

MAX_NEW_TOKENS: Mapping[Style, Mapping[str, int]] = {
    "raw": {"planner": 36, "selector": 6, "caller": 28, "synthesizer": 16},
    "chat": {"planner": 64, "selector": 16, "caller": 192, "synthesizer": 192},
}
"""Token budgets. A native tool call of a chat model is several times as long as `name(value)`."""


class ModularAgent:
    """Takes the question apart, then selects and calls one tool per step, then answers.

    - planner: question -> its steps, in words, separated by ";" (or one a line).
    - selector: step -> the name of a tool, as free text or, when `constrained`, as a choice.
    - caller: step, result of the step before and tool -> one call, in any of the forms of esagent.agents.toolcalls. It
      is shown the examples of its tool alone.
    - synthesizer: question and results -> the answer.

    What a module is shown is up to its prompt file; the fields are {question} {plan} {step} {tool} {signature}
    {result} (of the step before) and {results} (of all steps so far).

    A tool name or call that cannot be read runs nothing; its error is the step's result, which later modules see. Tasks
    without tools go from the plan straight to the answer.
    """

    modules: tuple[str, ...] = MODULES

    def __init__(
        self,
        *,
        max_turns: int = 3,
        constrained: bool = False,
        prompts: Path = PROMPTS,
        style: Style = "raw",
        max_new_tokens: Mapping[str, int] | None = None,
    ) -> None:
        """max_new_tokens: overrides per module. Raises ConfigError for those and for prompts that do not fit."""
        self.max_turns = max_turns
        self.constrained = constrained
        self._blank = " " if style == "raw" else ""
        budgets = token_budgets(MAX_NEW_TOKENS[style], max_new_tokens or {})
        self._ask = Asker(load_prompts(prompts, MODULES, FIELDS), budgets, style)

    def written(self, turn: Turn) -> str:
        """Like the examples of the prompts: raw models write behind the cue and a blank."""
        return f"{self._blank}{turn.completion.text}"

    def run(self, task: Task, env: Environment) -> Run:
        """One episode: at most 2 + 2 * max_turns requests."""
        fields = dict.fromkeys(FIELDS, "") | {"question": task.prompt}
        specs = {tool.name: tool for tool in task.tools}
        turns: list[Turn] = []
        results: list[str] = []

        request = self._ask.request("planner", fields, task.tools)
        completion = yield request
        turns.append(Turn("planner", request.prompt, completion))
        plan = _steps(completion)
        fields["plan"] = "; ".join(plan)

        for step in (plan or (task.prompt,))[: self.max_turns if specs else 0]:
            fields["step"] = step
            choices = tuple(specs) if self.constrained else ()
            request = self._ask.request("selector", fields, task.tools, list_tools=True, choices=choices)
            completion = yield request
            name = named_tool(completion, task.tools)
            if name:
                turns.append(Turn("selector", request.prompt, completion))
                fields |= {"tool": name, "signature": signatures([specs[name]])}
                request = self._ask.request("caller", fields, (specs[name],), native_tools=True)
                completion = yield request
                call = parse_call(completion, task.tools)
            else:
                call = _no_tool(completion, task)
            result = run_call(call, env)
            turns.append(Turn(request.module, request.prompt, completion, call, result))
            results.append(shown(result))
            fields |= {"result": results[-1], "results": "; ".join(results)}

        request = self._ask.request("synthesizer", fields, task.tools)
        completion = yield request
        turns.append(Turn("synthesizer", request.prompt, completion))
        return Trajectory(tuple(turns), visible_text(completion.text), plan)


def _steps(completion: Completion) -> tuple[str, ...]:
    """The plan's steps; a chat model may write one a line, with or without a number."""
    text = visible_text(completion.text).replace("\n", ";")
    return tuple(phrase for part in text.split(";") if (phrase := _BULLET.sub("", part).strip().rstrip(".")))


def _no_tool(completion: Completion, task: Task) -> ToolCall:
    if completion.cut and not visible_text(completion.text):
        return ToolCall("", error=CUT)
    return unknown(visible_text(completion.text), {tool.name: tool for tool in task.tools})
