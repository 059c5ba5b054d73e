"""One episode as a conversation: who was asked what, what it said, what the tools gave, and how it was scored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from esagent.core.episode import GOLD
from esagent.report.text import number

_STOPS = {
    "length": "cut at its length",
    "nonfinite": "logits not finite",
    "context": "the model's context is full",
}


def render(episode: Mapping[str, Any], state: str) -> Group:
    """The conversation for a terminal. state: whose it is, or around whom the population lies; "" when not known.

    Raises KeyError or TypeError when `episode` is not one.
    """
    task, score = episode["task"], episode["score"]
    parts: list[RenderableType] = [_facts(episode, state), Text()]
    for number_, turn in enumerate(episode["turns"], start=1):
        parts += _turn(number_, turn)
    parts += [Rule(Text("outcome"), align="left", style="dim"), _line("answer", str(episode["answer"]), "bold")]
    gold = task["payload"].get("answer")
    if gold is not None:
        parts.append(_line("right answer", str(gold)))
    if task["payload"].get("plan"):
        parts.append(_line("right plan", "; ".join(map(str, task["payload"]["plan"]))))
    parts += [_line("right call", call_text(call, gold=True)) for call in task["payload"].get("calls") or ()]
    if score["reason"] == GOLD:
        parts.append(_line(GOLD, number(score["reward"]), "bold"))
        return Group(*parts)
    parts.append(_line("reward", _reward(score), "bold"))
    return Group(*parts, _signals(score, modules(episode)))


def modules(episode: Mapping[str, Any]) -> list[str]:
    """Modules in the order in which the episode reached them, then those that only the score names."""
    return list(dict.fromkeys([*(turn["module"] for turn in episode["turns"]), *episode["score"]["signals"]]))


def first_mistake(score: Mapping[str, Any], order: Sequence[str]) -> str | None:
    """The earliest module whose signal is below 1; None in an episode without one."""
    return next((name for name in order if score["signals"].get(name, 1.0) < 1.0), None)


def call_text(call: Mapping[str, Any], gold: bool = False) -> str:
    """`add(a=1, b=2)`; a gold call with what it gives."""
    arguments = call.get("resolved") or call.get("arguments") or {}
    text = f"{call['name']}({', '.join(f'{k}={json.dumps(v, ensure_ascii=False)}' for k, v in arguments.items())})"
    return f"{text} gives {call['result']}" if gold and "result" in call else text


def outcome_text(turn: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """(label, text, whether it is a failure) of the tool call and its result, if the turn has them."""
    call, result = turn.get("call"), turn.get("result")
    if call and not call.get("error"):
        yield "call", call_text(call), False
    if result:
        yield ("result" if result["ok"] else "error"), str(result["output"]), not result["ok"]


def completion_note(completion: Mapping[str, Any]) -> str:
    """How a completion ended, where it did not simply stop."""
    return _STOPS.get(str(completion.get("stop_reason")), "")


def _facts(episode: Mapping[str, Any], state: str) -> Table:
    task = episode["task"]
    if episode["member"] < 0:
        member = f"unperturbed agent, {state}" if state else "unperturbed agent"
    else:
        around = f" around the agent, {state}" if state else ""
        member = f"member {episode['member']} of the population{around}"
    if episode["score"]["reason"] == GOLD:
        member = f"gold outputs, scored by {member}"
    if episode.get("sample") is not None:
        member += f", sample {episode['sample']}"
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("task", f"{task['id']} ({task['split']})"),
        ("by", member),
        ("tools", ", ".join(task["tools"]) or "none"),
        ("question", task["prompt"]),
    ):
        table.add_row(Text(name, style="dim"), Text(value, overflow="fold", style="bold" if name == "question" else ""))
    return table


def _turn(place: int, turn: Mapping[str, Any]) -> Iterator[RenderableType]:
    completion = turn["completion"]
    yield Rule(Text(f"{place}  {turn['module']}", style="bold"), align="left", style="dim")
    yield Text(indent(turn["prompt"].strip("\n"), "  "), style="dim", overflow="fold")
    note = completion_note(completion)
    said = completion["text"].strip() or "(nothing)"
    yield Text.assemble(("> " + said, "bold"), (f"   [{note}]" if note else "", "dim"), overflow="fold")
    for label, text, failed in outcome_text(turn):
        yield _line(label, text, "red" if failed else "")
    yield Text()


def _line(label: str, text: str, style: str = "") -> Text:
    return Text.assemble((f"  {label}: ", "dim"), (text, style), overflow="fold")


def _reward(score: Mapping[str, Any]) -> str:
    if score.get("unscored"):
        return f"not scored ({score['reason']})"
    verdict = "solved" if score["success"] else "not solved"
    return f"{number(score['reward'])}, {verdict}" + (f" ({score['reason']})" if score["reason"] else "")


def _signals(score: Mapping[str, Any], order: Sequence[str]) -> Table:
    blamed = None if score.get("success") else first_mistake(score, order)
    table = Table(title=Text("share of each module's work that was right"), title_justify="left", title_style="dim")
    for name in order:
        table.add_column(f"{name} (first mistake)" if name == blamed else name, justify="right")
    table.add_row(*(number(score["signals"][name]) if name in score["signals"] else "not judged" for name in order))
    return table
