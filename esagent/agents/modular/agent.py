"""planner -> (selector -> caller -> tool) per step -> synthesizer.

The four modules follow EvoTool (arXiv 2603.04900). Each has its own few-shot prompt, `prompts/<module>.txt` (the format
is described in esagent/agents/prompts.py), and may own its own parameters.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from pathlib import Path

from esagent.agents.asking import Asker, Style, did, named_tool, next_message, run_call, shown, token_budgets
from esagent.agents.base import Run
from esagent.agents.prompts import arguments, load_prompts, signatures
from esagent.agents.toolcalls import CUT, parse_call, visible_text
from esagent.agents.toolcalls.bind import unknown
from esagent.core.episode import Completion, Request, Task, ToolCall, ToolSpec, Trajectory, Turn
from esagent.tasks.base import Environment, Message

MODULES = ("planner", "selector", "caller", "synthesizer")
FIELDS = frozenset(
    {"question", "plan", "step", "tool", "tools", "signature", "arguments", "results", "result", "history"}
)
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
    {arguments} (of the tool, one a line) {result} (of the step before) {results} (of all steps so far) {history} (of a
    conversation: what was said and done before) and {tools} (empty where a chat model gets them in its own way).

    A tool name or call that cannot be read runs nothing; its error is the step's result, which later modules see. Tasks
    without tools go from the plan straight to the answer. A further message of the user (`Dialogue`) begins anew with
    the planner.
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
        self._raw = style == "raw"
        budgets = token_budgets(MAX_NEW_TOKENS[style], max_new_tokens or {})
        self._ask = Asker(load_prompts(prompts, MODULES, FIELDS), budgets, style)

    def written(self, turn: Turn) -> str:
        """Like the examples of the prompts: raw models write behind the cue and a blank."""
        return f"{' ' if self._raw else ''}{turn.completion.text}"

    def run(self, task: Task, env: Environment) -> Run:
        """One episode: at most 2 + 2 * max_turns requests for each message of the user."""
        turns: list[Turn] = []
        plan: list[str] = []
        history: list[str] = []
        message: Message | None = Message(task.prompt, task.tools)
        while message is not None:
            fields = dict.fromkeys(FIELDS, "") | {"question": message.text, "history": "; ".join(history)}
            steps, made = yield from self._deal_with(message, fields, env)
            turns += made
            plan += steps
            history += [" ".join(message.text.split()), *(did(turn.call, turn.result) for turn in made if turn.call)]
            message = next_message(env, answer := visible_text(made[-1].completion.text))
        return Trajectory(tuple(turns), answer, tuple(plan))

    def _deal_with(
        self, message: Message, fields: dict[str, str], env: Environment
    ) -> Generator[Request, Completion, tuple[tuple[str, ...], list[Turn]]]:
        """From a message to its answer. Returns the plan's steps and all turns."""
        specs = {tool.name: tool for tool in message.tools}
        turns: list[Turn] = []
        results: list[str] = []
        fields["tools"] = signatures(message.tools) if self._raw else ""

        request = self._ask.request("planner", fields, message.tools)
        completion = yield request
        turns.append(Turn("planner", request.prompt, completion))
        plan = _steps(completion)
        fields["plan"] = "; ".join(plan)

        for step in (plan or (message.text,))[: self.max_turns if specs else 0]:
            fields["step"] = step
            choices = tuple(specs) if self.constrained else ()
            request = self._ask.request("selector", fields, message.tools, list_tools=True, choices=choices)
            completion = yield request
            name = named_tool(completion, message.tools)
            if name:
                turns.append(Turn("selector", request.prompt, completion))
                tool = specs[name]
                fields |= {"tool": name, "signature": signatures([tool]), "arguments": arguments(tool)}
                request = self._ask.request("caller", fields, (tool,), native_tools=True)
                completion = yield request
                call = parse_call(completion, message.tools)
            else:
                call = _no_tool(completion, specs)
            result = run_call(call, env)
            turns.append(Turn(request.module, request.prompt, completion, call, result))
            results.append(shown(result))
            fields |= {"result": results[-1], "results": "; ".join(results)}

        request = self._ask.request("synthesizer", fields, message.tools)
        completion = yield request
        turns.append(Turn("synthesizer", request.prompt, completion))
        return plan, turns


def _steps(completion: Completion) -> tuple[str, ...]:
    """The plan's steps; a chat model may write one a line, with or without a number."""
    text = visible_text(completion.text).replace("\n", ";")
    return tuple(phrase for part in text.split(";") if (phrase := _BULLET.sub("", part).strip().rstrip(".")))


def _no_tool(completion: Completion, tools: Mapping[str, ToolSpec]) -> ToolCall:
    if completion.cut and not visible_text(completion.text):
        return ToolCall("", error=CUT)
    return unknown(visible_text(completion.text), tools)
