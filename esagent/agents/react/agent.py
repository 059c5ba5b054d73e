"""thought -> call -> observation, until an answer (ReAct, arXiv 2210.03629)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from esagent.agents.asking import Asker, Style, run_call, shown, token_budgets
from esagent.agents.base import Run
from esagent.agents.prompts import load_prompts
from esagent.agents.toolcalls import CUT, parse_call, parse_calls, visible_text
from esagent.core.episode import Completion, Message, Request, Task, ToolCall, Trajectory, Turn
from esagent.tasks.base import Environment

MODULES = ("policy",)
FIELDS = frozenset({"question"})
PROMPTS = Path(__file__).parent / "prompts"
MAX_NEW_TOKENS: Mapping[Style, Mapping[str, int]] = {"raw": {"policy": 48}, "chat": {"policy": 512}}

ACTION, OBSERVATION, ANSWER = "Action:", "Observation:", "Answer:"


class ReactAgent:
    """One module, `policy`, that thinks, calls tools and decides when to answer.

    Raw models write lines that begin with Thought:, Action: or Answer:; a chat model calls tools in its own format, and
    a message without a call is its answer. What is neither a call nor an answer comes back as an error observation.
    After `max_turns` calls the policy is asked once more, for the answer only.
    """

    modules: tuple[str, ...] = MODULES

    def __init__(
        self,
        *,
        max_turns: int = 3,
        prompts: Path = PROMPTS,
        style: Style = "raw",
        max_new_tokens: Mapping[str, int] | None = None,
    ) -> None:
        """max_new_tokens: overrides per module. Raises ConfigError for those and for prompts that do not fit."""
        self.max_turns = max_turns
        self.style = style
        budgets = token_budgets(MAX_NEW_TOKENS[style], max_new_tokens or {})
        loaded = load_prompts(prompts, MODULES, FIELDS)
        self._ask = Asker(loaded, budgets, style)
        self._cue = loaded["policy"].template[-1]

    def run(self, task: Task, env: Environment) -> Run:
        """One episode: at most max_turns + 1 requests."""
        request = self._ask.request("policy", {"question": task.prompt}, task.tools, native_tools=True, examples=False)
        if self.style == "raw":
            request = replace(request, stop=(f"\n{OBSERVATION}", "\n\n"))
        turns: list[Turn] = []
        for _ in range(self.max_turns if task.tools else 0):
            completion = yield request
            answer = self._answer(completion, task)
            if answer is not None:
                turns.append(Turn("policy", request.prompt, completion))
                return Trajectory(tuple(turns), answer)
            call = self._call(completion, task)
            result = run_call(call, env)
            turns.append(Turn("policy", request.prompt, completion, call, result))
            request = self._continued(request, completion, shown(result))
        request = self._closing(request)
        completion = yield request
        turns.append(Turn("policy", request.prompt, completion))
        return Trajectory(tuple(turns), visible_text(completion.text).rpartition(ANSWER)[2].strip())

    def _answer(self, completion: Completion, task: Task) -> str | None:
        """The final answer, if this completion gives one rather than a call."""
        text = visible_text(completion.text)
        if self.style == "raw":
            before, mark, answer = text.partition(ANSWER)
            return answer.strip() if mark and ACTION not in before else None
        if parse_calls(completion, task.tools) or completion.cut:
            return None
        return text.rpartition(ANSWER)[2].strip()

    def _call(self, completion: Completion, task: Task) -> ToolCall:
        if self.style == "chat":
            return parse_call(completion, task.tools)
        _, mark, action = completion.text.partition(ACTION)
        if mark:
            return parse_call(replace(completion, text=action), task.tools)
        return ToolCall("", error=CUT if completion.cut else f"write {ACTION} or {ANSWER}")

    def _continued(self, request: Request, completion: Completion, result: str) -> Request:
        """The request after an observation."""
        if self.style == "chat":
            said = (Message("assistant", completion.text), Message("tool", result))
            return replace(request, messages=(*request.messages, *said))
        text = completion.text.rstrip()
        return replace(request, prompt=f"{request.prompt}{text}\n{OBSERVATION} {result}\n{self._cue}")

    def _closing(self, request: Request) -> Request:
        """The request that leaves nothing but the answer."""
        if self.style == "chat":
            last = Message("user", "Give the final answer now, without calling a tool.")
            return replace(request, messages=(*request.messages, last), tools=())
        return replace(request, prompt=request.prompt.removesuffix(self._cue) + ANSWER, stop=("\n",))
