"""Our verdicts are those of the package's own checker: on every gold answer, and on mutated ones.

ESAGENT_TEST_MUTATIONS sets how many mutated answers of single questions are tried (1000), and a tenth of it how many
conversations.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from esagent.core.episode import ToolCall, ToolResult
from esagent.tasks.bfcl.accepted import right_arguments
from esagent.tasks.bfcl.dialogue_score import Replay
from esagent.tasks.bfcl.dialogues import DIALOGUES, dialogue_rows
from esagent.tasks.bfcl.family import SPLITS
from esagent.tasks.bfcl.filtered import BAD
from esagent.tasks.bfcl.match import match
from esagent.tasks.bfcl.package import read_rows
from esagent.tasks.bfcl.rows import Row, right_values
from esagent.tasks.grading import Hop
from tests.tasks.bfcl.mutations import changed, mutated
from tests.tasks.bfcl.reference import passes, passes_dialogue

FILES = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
)
MUTATIONS = int(os.environ.get("ESAGENT_TEST_MUTATIONS", "1000"))
Call = dict[str, Any]


def ours(functions: Sequence[Mapping[str, Any]], calls: Sequence[Call], answers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the calls would earn 1."""
    described = {function["name"]: function["parameters"] for function in functions}
    wanted = [next(iter(answer.items())) for answer in answers]
    hops = [Hop(call["name"], ToolCall(call["name"], call["arguments"]), ToolResult(True, "")) for call in calls]

    def share(i: int, hop: Hop) -> float:
        assert hop.call
        return right_arguments(wanted[i][1], hop.call.arguments, described[wanted[i][0]])

    return match([name for name, _ in wanted], hops, share).right


@pytest.fixture(scope="module")
def gold() -> list[tuple[str, dict[str, Any], list[Any]]]:
    """(category, row, gold answers) of every row that calls functions of Python, live ones too."""
    rows = []
    for name in FILES:
        file = f"BFCL_v4_{name}.json"
        for row, answer in zip(read_rows(file), read_rows(f"possible_answer/{file}"), strict=True):
            assert row["id"] == answer["id"] or "live_simple" in row["id"]
            rows.append((name, row, answer["ground_truth"]))
    return rows


def right_calls(answers: Sequence[Mapping[str, Any]]) -> list[Call]:
    return [{"name": name, "arguments": right_values(accepted)} for a in answers for name, accepted in a.items()]


def test_on_every_gold_answer(gold: Sequence[tuple[str, dict[str, Any], list[Any]]]) -> None:
    assert len(gold) == 2351
    failing = []
    for category, row, answers in gold:
        calls = right_calls(answers)
        assert ours(row["function"], calls, answers) == passes(row["function"], calls, answers, category), row["id"]
        if not ours(row["function"], calls, answers):
            failing.append(row["id"])
    assert {name for name in failing if "live" not in name} <= set(BAD)


def test_on_mutated_answers(gold: Sequence[tuple[str, dict[str, Any], list[Any]]]) -> None:
    draw = random.Random(1)
    verdicts = []
    for _ in range(MUTATIONS):
        category, row, answers = draw.choice(gold)
        calls = mutated(right_calls(answers), [accepted for a in answers for accepted in a.values()], draw)
        theirs = passes(row["function"], calls, answers, category)
        assert ours(row["function"], calls, answers) == theirs, (row["id"], json.dumps(calls, default=repr), answers)
        verdicts.append(theirs)
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.7, "both verdicts are tried"


@pytest.fixture(scope="module")
def talks() -> list[Row]:
    return [row for name in DIALOGUES for split in SPLITS for row in dialogue_rows(name, split)]


def deals_with_all(payload: Mapping[str, Any], made: Sequence[Sequence[Call]]) -> bool:
    replay = Replay(payload)
    return all(replay.deals_with([ToolCall(call["name"], call["arguments"]) for call in calls]) for calls in made)


def test_on_mutated_conversations(talks: Sequence[Row]) -> None:
    draw = random.Random(2)
    verdicts = []
    for _ in range(max(MUTATIONS // 10, 30)):
        payload = draw.choice(talks).payload
        made = [[{**call, "arguments": dict(call["arguments"])} for call in m["calls"]] for m in payload["messages"]]
        if draw.random() < 0.8:
            at = draw.choice([i for i, calls in enumerate(made) if calls])
            _change(made, at, draw)
        if _withheld(payload, made):  # theirs runs what is not on offer yet, our environment does not
            assert not deals_with_all(payload, made)
            continue
        theirs = passes_dialogue(payload, made)
        assert deals_with_all(payload, made) == theirs, (payload["category"], made)
        verdicts.append(theirs)
    assert 0.15 < sum(verdicts) / len(verdicts) < 0.85, "both verdicts are tried"


def _withheld(payload: Mapping[str, Any], made: Sequence[Sequence[Call]]) -> bool:
    pairs = zip(payload["messages"], made, strict=True)
    return any(call["name"] in message["withheld"] for message, calls in pairs for call in calls)


def _change(made: list[list[Call]], at: int, draw: random.Random) -> None:
    """One change of the calls at message `at`; values keep their type, for ours refuses others before they run."""
    kind = draw.choice(("drop", "twice", "swap", "move", "text"))
    call = draw.choice(made[at])
    if kind == "drop":
        made[at].remove(call)
    elif kind == "twice":
        made[at].append(call)
    elif kind == "swap":
        made[at].reverse()
    elif kind == "move":
        made[at].remove(call)
        made[(at + 1) % len(made)].insert(0, call)
    else:
        for name, value in call["arguments"].items():
            other = changed(value, draw)
            if type(other) is type(value) and not isinstance(value, (list, dict)):
                call["arguments"][name] = other


@pytest.mark.parametrize("category", DIALOGUES)
def test_on_gold_conversations(talks: Sequence[Row], category: str) -> None:
    rows = [row for row in talks if row.category == category]
    for row in rows if MUTATIONS >= 5000 else rows[::8]:
        made = [message["calls"] for message in row.payload["messages"]]
        assert deals_with_all(row.payload, made)
        assert passes_dialogue(row.payload, made), row.id
