"""Reward and signals of a conversation over simulated APIs.

The calls of the episode are run again, and the right ones beside them, each on simulators of their own. As in the
leaderboard's checker, a message is dealt with when, after it, the public state of both is the same and the outputs so
far hold those of its right calls; any calls that lead there will do. Where nothing is to be called, none may be made.

With K messages that want calls, of which the first k were dealt with before something went wrong, the reward is

    (k + part / 2) / K

where part, in [0, 1), is what the calls of the message that went wrong would earn as a single question
(question_score.py; an argument is right when it equals that of the right call). It is 1 only when all went well.

Signals are means over the messages up to the one that went wrong: 1 for the modules of those that were dealt with, and
as for a single question in that one, with the calls made in place of the planned steps. Right calls that still do not
lead where they should came in the wrong order, which is the planner's. Later messages are not judged, and synthesizers
never.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from esagent.core.episode import Score, Task, ToolCall, Trajectory, Turn
from esagent.tasks.bfcl.decline import declines
from esagent.tasks.bfcl.dialogues import offered
from esagent.tasks.bfcl.environments import DialogueEnvironment
from esagent.tasks.bfcl.match import match
from esagent.tasks.bfcl.question_score import ARGUMENTS, FUNCTIONS, blame, graded, module_signals, reached
from esagent.tasks.bfcl.simulators import Simulators, holds
from esagent.tasks.grading import Hop, hops_of

Calls = Sequence[Mapping[str, Any]]


def score_dialogue(task: Task, trajectory: Trajectory) -> Score:
    """Score one conversation."""
    messages = task.payload["messages"]
    wanting = sum(bool(message["calls"]) for message in messages)
    replay = Replay(task.payload)
    judged: list[Mapping[str, float]] = []
    done = 0
    for message, turns in zip(messages, segments(trajectory.turns, len(messages)), strict=True):
        modules = {turn.module for turn in turns}
        hops = hops_of(Trajectory(tuple(turns), ""), replay.offered)
        if replay.deals_with([turn.call for turn in turns if turn.call is not None]):
            done += bool(message["calls"])
            judged.append(dict.fromkeys(modules - {"synthesizer"}, 1.0))
            continue
        reward, signals, reason = _failed(message["calls"], hops, turns)
        judged.append(signals)
        return Score((done + reward / 2) / wanting, _means(judged), f"message {len(judged)}: {reason}")
    return Score(1.0, _means(judged), success=True)


class Replay:
    """Runs the calls of an episode again, message by message, and the right ones beside them."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self._payload = payload
        self._outputs: list[str] = []
        self._at = 0

    @property
    def offered(self) -> list[str]:
        """Names of the functions on offer at the next message."""
        return [tool.name for tool in offered(self._payload, self._at)]

    def deals_with(self, calls: Sequence[ToolCall]) -> bool:
        """Whether `calls`, made at the next message, deal with it. Broken ones run nothing.

        After a message that was not dealt with there is nothing more to ask.
        """
        wanted = self._payload["messages"][self._at]["calls"]
        made = [call for call in calls if not call.error]
        self._at += 1
        if bool(made) != bool(wanted):
            return False
        self._outputs += [self._made.call(call.name, call.arguments).output for call in made]
        outputs = [self._right.call(call["name"], call["arguments"]).output for call in wanted]
        self._made.reply("")
        return not wanted or (self._made.simulators.state() == self._right.state() and holds(self._outputs, outputs))

    @functools.cached_property
    def _made(self) -> DialogueEnvironment:
        return DialogueEnvironment(self._payload)

    @functools.cached_property
    def _right(self) -> Simulators:
        return Simulators(self._payload["apis"], self._payload["config"], self._payload["long"])


def segments(turns: Sequence[Turn], messages: int) -> list[list[Turn]]:
    """The turns of each message (see `Dialogue`); what lies behind the last answer belongs to the last message."""
    parts: list[list[Turn]] = [[] for _ in range(messages)]
    at = 0
    for turn in turns:
        parts[at].append(turn)
        if turn.call is None and turn.module not in ("planner", "selector"):
            at = min(at + 1, messages - 1)
    return parts


def _failed(wanted: Calls, hops: list[Hop], turns: Sequence[Turn]) -> tuple[float, dict[str, float], str]:
    """(reward as a single question, signals, reason) of a message that was not dealt with."""
    modules = {turn.module for turn in turns}
    if not wanted:
        chose = [turn for turn in turns if turn.module == "selector"]
        nothing = sum(declines(turn.completion.text) for turn in chose)
        signals = {"selector": nothing / len(chose)} if chose else dict.fromkeys(modules, 0.0)
        return 0.0, signals, "a call was made where nothing can be done"

    def share(i: int, hop: Hop) -> float:
        if hop.call is None or hop.call.error or hop.call.name != wanted[i]["name"]:
            return 0.0
        right, given = wanted[i]["arguments"], hop.call.arguments
        names = {*right, *given}
        return sum(name in right and name in given and right[name] == given[name] for name in names) / max(
            len(names), 1
        )

    matched = match([call["name"] for call in wanted], hops, share)
    planned = "planner" in modules
    if matched.right:
        reward = FUNCTIONS + ARGUMENTS
        signals, reason = module_signals(matched, 0.0), "order of the calls"
    else:
        reward = graded(matched, matched.count if planned else None)
        signals = module_signals(matched, matched.count)
        reason = blame(matched, signals if planned else {}, "calls" if hops else "no call")
    return reward, reached(signals if planned else dict.fromkeys(modules, reward), modules), reason


def _means(judged: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for signals in judged for name in signals)
    found = {name: [signals[name] for signals in judged if name in signals] for name in names}
    return {name: sum(values) / len(values) for name, values in found.items()}
