"""thought -> call -> observation, until an answer (ReAct, arXiv 2210.03629)."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from esagent.agents.asking import Asker, Style, next_message, run_call, shown, token_budgets
from esagent.agents.base import Run
from esagent.agents.prompts import load_prompts, signatures
from esagent.agents.toolcalls import CUT, parse_call, parse_calls, visible_text
from esagent.core.episode import Completion, Message, Request, Task, ToolCall, ToolSpec, Trajectory, Turn
from esagent.tasks import base

MODULES = ("policy",)
FIELDS = frozenset({"question", "tools"})
PROMPTS = Path(__file__).parent / "prompts"
MAX_NEW_TOKENS: Mapping[Style, Mapping[str, int]] = {"raw": {"policy": 48}, "chat": {"policy": 512}}

ACTION, OBSERVATION, ANSWER = "Action:", "Observation:", "Answer:"


class ReactAgent:
    """One module, `policy`, that thinks, calls tools and decides when to answer.

    Raw models write lines that begin with Thought:, Action: or Answer:; a chat model calls tools in its own format, and
    a message without a call is its answer. What is neither a call nor an answer comes back as an error observation.
    After `max_turns` calls the policy is asked once more, for the answer only. A further message of the user
    (`Dialogue`) goes on behind that answer.
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

    def run(self, task: Task, env: base.Environment) -> Run:
        """One episode: at most max_turns + 1 requests for each message of the user."""
        request = self._first(task)
        turns: list[Turn] = []
        tools = task.tools
        while True:
            last, answer, made = yield from self._deal_with(tools, request, env)
            turns += made
            message = next_message(env, answer)
            if message is None:
                return Trajectory(tuple(turns), answer)
            shown_tools = () if message.tools == tools else message.tools
            request = self._further(request, last, made[-1].completion, message, shown_tools)
            tools = message.tools

    def _deal_with(
        self, tools: Sequence[ToolSpec], request: Request, env: base.Environment
    ) -> Generator[Request, Completion, tuple[Request, str, list[Turn]]]:
        """From a message to its answer. Returns the last request, the answer and all turns."""
        turns: list[Turn] = []
        for _ in range(self.max_turns if tools else 0):
            completion = yield request
            answer = self._answer(completion, tools)
            if answer is not None:
                turns.append(Turn("policy", request.prompt, completion))
                return request, answer, turns
            call = self._call(completion, tools)
            result = run_call(call, env)
            turns.append(Turn("policy", request.prompt, completion, call, result))
            request = self._continued(request, completion, shown(result))
        request = self._closing(request)
        completion = yield request
        turns.append(Turn("policy", request.prompt, completion))
        return request, visible_text(completion.text).rpartition(ANSWER)[2].strip(), turns

    def _first(self, task: Task) -> Request:
        """The request that begins an episode."""
        fields = self._fields(task.prompt, task.tools)
        request = self._ask.request("policy", fields, task.tools, native_tools=True, examples=False)
        return replace(request, stop=(f"\n{OBSERVATION}", "\n\n")) if self.style == "raw" else request

    def _further(
        self, first: Request, last: Request, completion: Completion, message: base.Message, new: Sequence[ToolSpec]
    ) -> Request:
        """The request about a further message. first, last: those that the one before began and ended with. new: the
        tools where they are no longer the same."""
        filled = self._ask.prompts["policy"].fill(self._fields(message.text, new))
        if self.style == "chat":
            said = (Message("assistant", completion.text), Message("user", filled))
            return replace(first, messages=(*last.messages, *said), tools=tuple(message.tools))
        return replace(first, prompt=f"{last.prompt}{completion.text.rstrip()}\n\n{filled}")

    def _fields(self, question: str, tools: Sequence[ToolSpec]) -> dict[str, str]:
        """Chat models get the tools in their own format."""
        return {"question": question, "tools": signatures(tools) if self.style == "raw" else ""}

    def _answer(self, completion: Completion, tools: Sequence[ToolSpec]) -> str | None:
        """The final answer, if this completion gives one rather than a call."""
        text = visible_text(completion.text)
        if self.style == "raw":
            before, mark, answer = text.partition(ANSWER)
            return answer.strip() if mark and ACTION not in before else None
        if parse_calls(completion, tools) or completion.cut:
            return None
        return text.rpartition(ANSWER)[2].strip()

    def _call(self, completion: Completion, tools: Sequence[ToolSpec]) -> ToolCall:
        if self.style == "chat":
            return parse_call(completion, tools)
        _, mark, action = completion.text.partition(ACTION)
        if mark:
            return parse_call(replace(completion, text=action), tools)
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
