"""From a template and a key to a task with its gold plan, calls and answer, the calls really executed."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from esagent.core.episode import Task, ToolSpec
from esagent.tasks.base import Split
from esagent.tasks.toolbox.draw import Draw
from esagent.tasks.toolbox.plans import said
from esagent.tasks.toolbox.skill import Drawn
from esagent.tasks.toolbox.skills import FOLLOWS, STARTS
from esagent.tasks.toolbox.templates import DISTRACTORS, FRAMES, LEVELS, Template, skill_tool
from esagent.tools.registry import ToolEnvironment, make_tools


def build(template: Template, level: str, draw: Draw, task_id: str) -> Task | None:
    """One task of a template, or None when the values drawn do not fit together (try another key).

    payload: `template`, `wordings` (the sentences used, slots open), `tables` of the environment, and the gold `plan`
    (the question's parts, one per hop), `said` (what each part must name, see plans.py), `calls` (name, arguments with
    markers "$1" for the result of hop 1, `resolved` arguments, `result`), `answer`, other answers to `accept`, and
    `carriers` (words that may follow the answer).
    """
    settings, split = LEVELS[level], draw.split
    tables: dict[str, dict[str, str]] = {}
    hops: list[Drawn] = []
    calls: list[dict[str, Any]] = []
    results: list[str] = []
    for at, skill in enumerate(template):
        if at == 0:
            hop: Drawn | None = STARTS[skill].draw(draw, settings)
        else:
            hop = FOLLOWS[skill].draw(draw, settings, f"${at}", results[-1])
        if hop is None or set(hop.tables) & set(tables):
            return None
        tables.update({name: dict(rows) for name, rows in hop.tables.items()})
        resolved = resolve(hop.arguments, results)
        result = ToolEnvironment(make_tools(settings.tools, tables)).call(skill_tool(skill), resolved)
        if not result.ok:
            return None
        hops.append(hop)
        results.append(result.output)
        call = {"name": skill_tool(skill), "arguments": dict(hop.arguments), "resolved": resolved}
        calls.append({**call, "result": result.output})
    prompt, wordings, plan = _write(template, hops, draw)
    if settings.distractor:
        sentence = draw.pick(DISTRACTORS[split])
        idle = sentence.format(name=draw.name(), n=draw.number(2, settings.high), things=draw.thing())
        prompt, wordings = f"{idle} {prompt}", [sentence, *wordings]
    answer = results[-1]
    payload = {
        "template": list(template),
        "wordings": wordings,
        "tables": tables,
        "plan": plan,
        "said": [said(call["arguments"], part) for call, part in zip(calls, plan, strict=True)],
        "calls": calls,
        "answer": answer,
        "accept": [answer.lower()] if template[-1].startswith("weekday") else [],
        "carriers": list(hops[-1].carriers),
    }
    return Task(task_id, "toolbox", split, prompt, _specs(settings.tools), payload, kind=" ".join(template))


@functools.cache
def _specs(names: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    return tuple(tool.spec for tool in make_tools(names).values())


def resolve(arguments: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Arguments with every marker "$k" replaced by the k-th of `results`, inside texts and lists."""
    return {name: _resolve(value, results) for name, value in arguments.items()}


def _resolve(value: Any, results: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_resolve(item, results) for item in value]
    if isinstance(value, str):
        for at, result in enumerate(results, start=1):
            value = value.replace(f"${at}", result)
    return value


def _write(template: Template, hops: Sequence[Drawn], draw: Draw) -> tuple[str, list[str], list[str]]:
    """The question, the open sentences it is made of, and its parts, one per hop."""
    split: Split = draw.split
    if len(template) == 1:
        question = draw.pick(STARTS[template[0]].questions[split])
        prompt = question.format(**hops[0].slots)
        return prompt, [question], [prompt]
    sources = [STARTS[template[0]].clauses, *(FOLLOWS[skill].clauses for skill in template[1:])]
    sentences = [draw.pick(clauses[split]) for clauses in sources]
    parts = [sentence.format(**hop.slots) for sentence, hop in zip(sentences, hops, strict=True)]
    frame = draw.pick(FRAMES[len(template)][split])
    filled = dict(zip("abc", parts, strict=False))
    return frame.format(**filled, A=parts[0][0].upper() + parts[0][1:]), [frame, *sentences], parts
