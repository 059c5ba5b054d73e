"""From a chain of relations to a task with its gold plan, searches, articles and answer, the searches really run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from esagent.core.episode import Task
from esagent.tasks.qa.plans import wanted_steps
from esagent.tasks.qa.relations import RELATIONS, SECTIONS, Chain
from esagent.tasks.qa.wordings import PHRASES, QUESTIONS, THAT
from esagent.tasks.qa.world import EVERYTHING, World, phrase
from esagent.tasks.toolbox.draw import Draw
from esagent.tools.base import Tool
from esagent.tools.search import make_search


def search_tools(world: World, *, sections: bool) -> dict[str, Tool]:
    """One search tool for every section, or one for all of them."""
    if not sections:
        return {EVERYTHING: make_search(EVERYTHING, "Search all articles.", world.indices[EVERYTHING])}
    return {name: make_search(name, f"Search the articles about {name}.", world.indices[name]) for name in SECTIONS}


class Found(NamedTuple):
    """What one search of the gold chain brings up: in which tool, by which query, the article, and what it says."""

    tool: str
    query: str
    title: str
    value: str


def walk(world: World, chain: Chain, start: str, *, sections: bool) -> tuple[Found, ...] | None:
    """The gold searches of `chain` from the thing `start`; None where it leads nowhere, or to a thing twice."""
    things, found = [start], []
    for name in chain:
        title = world.article(name, things[-1])
        value = world.value(name, title) if title else None
        tool = RELATIONS[name].section if sections else EVERYTHING
        if title is None or value is None or value in things:
            return None
        query = things[-1]
        best = world.indices[tool].find(query)
        if not best or best[0].title != title:
            return None
        found.append(Found(tool, query, title, value))
        things.append(value)
    return tuple(found)


def build(
    chain: Chain, start: str, found: Sequence[Found], draw: Draw, task_id: str, tools: Mapping[str, Tool]
) -> Task:
    """The question that `found`, the walk of `chain` from `start`, answers.

    payload: `chain`, `start`, `wordings` (the sentences used, slots open), and the gold `plan`, `steps` (what each of
    its steps must say, see plans.py), `calls` (name, `resolved` arguments, `result`), `documents` (titles of the
    articles that the answer rests on) and `answer`.
    """
    prompt, wordings, plan = _write(chain, start, draw)
    calls = [
        {"name": name, "resolved": {"query": query}, "result": tools[name].run({"query": query}).output}
        for name, query, _, _ in found
    ]
    payload: dict[str, Any] = {
        "chain": list(chain),
        "start": start,
        "wordings": wordings,
        "plan": plan,
        "steps": wanted_steps(chain, start),
        "calls": calls,
        "documents": [one.title for one in found],
        "answer": found[-1].value,
    }
    specs = tuple(tool.spec for tool in tools.values())
    return Task(task_id, "qa", draw.split, prompt, specs, payload, kind=" ".join(chain))


def _write(chain: Chain, start: str, draw: Draw) -> tuple[str, list[str], list[str]]:
    """The question, the open sentences it is made of, and the plan: in its own words, one step a hop."""
    split = draw.split
    phrases = [draw.pick(PHRASES[name][split]) for name in chain[:-1]]
    question = draw.pick(QUESTIONS[chain[-1]][split])
    named = phrase(RELATIONS[chain[0]].takes, start)
    asked, steps = named, []
    for at, (name, sentence) in enumerate(zip(chain, phrases, strict=False)):
        asked = sentence.format(x=asked)
        steps.append(f"find {sentence.format(x=named if at == 0 else THAT[RELATIONS[name].takes])}")
    prompt = question.format(x=asked)
    last = prompt if not phrases else question.format(x=THAT[RELATIONS[chain[-1]].takes])
    return prompt, [*phrases, question], [*steps, (last[0].lower() + last[1:]).rstrip("?.")]
