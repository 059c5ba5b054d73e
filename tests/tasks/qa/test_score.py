"""Rewards and signals of episodes worked out by hand: who is blamed for what."""

from __future__ import annotations

import dataclasses

import pytest

from esagent.core.episode import Completion, Score, Task, ToolCall, Trajectory, Turn
from esagent.tasks.qa import QaFamily
from esagent.tasks.qa.build import build, search_tools, walk
from esagent.tasks.qa.relations import RELATIONS
from esagent.tasks.qa.world import make_world
from esagent.tasks.toolbox.draw import Draw

FAMILY = QaFamily("medium")
WORLD = make_world(0, "train")
TOOLS = search_tools(WORLD, sections=True)


def ask(*chain: str) -> Task:
    """The question that follows `chain` from the first thing from which it leads somewhere."""
    for start in WORLD.names(RELATIONS[chain[0]].takes):
        if found := walk(WORLD, chain, start, sections=True):
            return build(chain, start, found, Draw(1, "train"), "task", TOOLS)
    raise LookupError(chain)


ONE, TWO, BACK = ask("author"), ask("author", "employer"), ask("town")


def run(
    task: Task,
    *,
    plan: tuple[str, ...] | None = None,
    searches: list[tuple[str, str]] | None = None,
    answer: str | None = None,
) -> Score:
    """Score of a modular episode that does all as gold but for what is given."""
    env, gold = FAMILY.env(task), FAMILY.gold(task)
    calls = [(call["name"], call["resolved"]["query"]) for call in task.payload["calls"]]
    plan = gold.plan if plan is None else plan
    turns = [Turn("planner", "", Completion("; ".join(plan)))]
    for tool, query in calls if searches is None else searches:
        call = ToolCall(tool, {"query": query})
        turns.append(Turn("selector", "", Completion(f" {tool}")))
        turns.append(Turn("caller", "", Completion(""), call, env.call(tool, call.arguments)))
    given = gold.answer if answer is None else answer
    turns.append(Turn("synthesizer", "", Completion(given)))
    return FAMILY.score(task, Trajectory(tuple(turns), given, plan))


def test_gold() -> None:
    for task in (ONE, TWO, BACK):
        score = run(task)
        assert (score.reward, score.success, score.reason) == (1.0, True, "")
        assert score.signals == dict.fromkeys(("planner", "selector", "caller", "synthesizer"), 1.0)


def test_the_wrong_section_ends_what_counts() -> None:
    score = run(ONE, searches=[("people", ONE.payload["start"])])
    assert score.reward == 0.0
    assert score.reason == "selector"
    assert score.signals["selector"] == 0.0
    assert "caller" not in score.signals
    assert score.signals["planner"] == 1.0


def test_a_query_that_finds_another_article_gets_half_the_share_of_its_right_words() -> None:
    title = ONE.payload["start"]
    word = title.split()[-1]
    other = next(name for name in WORLD.names("works") if name.split()[-1] == word and name != title)
    score = run(ONE, searches=[("works", other)], answer=WORLD.facts[other]["author"])
    assert score.signals == {"planner": 1.0, "selector": 1.0, "caller": 0.25, "synthesizer": 1.0}  # 1 word of 2
    assert score.reward == pytest.approx(0.1 + 0.25 + 0.25 * 0.25)
    assert score.reason == "caller"


def test_the_answer_must_follow_from_the_articles() -> None:
    nothing = run(ONE, searches=[("works", "xyzzy")])
    assert nothing.reward == pytest.approx(0.1 + 0.25)
    assert nothing.signals["caller"] == 0.0
    assert "synthesizer" not in nothing.signals  # it was shown nothing to answer from
    wrong = run(ONE, answer=WORLD.facts[ONE.payload["start"]]["setting"])
    assert wrong.reward == pytest.approx(0.6)
    assert (wrong.signals["synthesizer"], wrong.reason) == (0.0, "synthesizer")
    assert run(ONE, answer=f"the {ONE.payload['answer'].lower()}.").reward == 1.0


def test_a_later_hop_is_judged_by_what_the_one_before_it_found() -> None:
    first, second = TWO.payload["calls"]
    relation, last = TWO.payload["chain"]
    other = next(
        name
        for name in WORLD.names(first["name"])
        if name != TWO.payload["start"] and WORLD.facts[name][relation] != WORLD.facts[TWO.payload["start"]][relation]
    )
    led = WORLD.facts[other][relation]
    score = run(
        TWO,
        searches=[(first["name"], other), (second["name"], led)],
        answer=str(WORLD.follow(last, led)),
    )
    assert score.signals["synthesizer"] == 1.0
    assert score.signals["selector"] == 1.0
    assert 0.5 <= score.signals["caller"] < 1.0  # the second query was right for what it was shown
    assert score.reason == "caller"


def test_plans() -> None:
    steps = tuple(TWO.payload["plan"])
    assert run(TWO, plan=steps[::-1]).signals["planner"] == 0.0
    assert run(TWO, plan=steps[:1]).signals["planner"] == 0.5
    assert run(TWO, plan=(*steps, steps[1])).signals["planner"] == pytest.approx(2 / 3)
    assert run(TWO, plan=(TWO.prompt, steps[1])).signals["planner"] == 0.5  # one step that asks for everything
    assert run(TWO, plan=("", "")).signals["planner"] == 0.0
    assert run(TWO, plan=steps[::-1]).reward == pytest.approx(0.9)


def test_backwards_the_article_is_about_the_answer() -> None:
    assert BACK.payload["documents"] == [BACK.payload["answer"]]
    assert BACK.payload["calls"][0]["name"] == "places"
    assert run(BACK, searches=[("people", BACK.payload["start"])]).reward == 0.0


def test_searches_end() -> None:
    env = FAMILY.env(ONE)
    results = [env.call("works", {"query": ONE.payload["start"]}) for _ in range(4)]
    assert [result.ok for result in results] == [True, True, True, False]
    assert results[-1].output == "no more than 3 searches; answer now"
    assert FAMILY.env(ONE).call("works", {"query": ONE.payload["start"]}).ok  # those of another episode are its own


def test_a_single_policy_is_not_held_to_a_plan_nor_to_what_it_corrected() -> None:
    gold, env = FAMILY.gold(TWO), FAMILY.env(TWO)
    bad = ToolCall("people", {"query": "xyzzy"})
    turns = [Turn("policy", "", Completion(""), bad, env.call(bad.name, bad.arguments))]
    turns += [dataclasses.replace(turn, module="policy") for turn in gold.turns if turn.call is not None]
    turns.append(Turn("policy", "", Completion(gold.answer)))
    score = FAMILY.score(TWO, Trajectory(tuple(turns), gold.answer))
    assert (score.reward, score.signals) == (1.0, {"policy": 1.0})
