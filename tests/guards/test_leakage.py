"""Copies between pools, exact and nearly so, and pools that have none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esagent.config.schema import TaskConfig
from esagent.core.episode import Task
from esagent.guards.leakage import leakage
from esagent.guards.subject import Subject
from esagent.pools import Pools, make_pools
from esagent.tasks.jsonl import JsonlFamily
from esagent.tasks.toolbox.family import ToolboxFamily
from tests.helpers.guarded import looked, only, vector_subject

LONG = (
    "A farmer has 12 sheep and buys 7 more at the market on Monday, then sells 5 of them to a neighbour on Friday "
    "afternoon. How many sheep does the farmer have at the end of the week?"
)


def subject(pool: list[str], validation: list[str] = (), heldout: list[str] = ()) -> Subject:  # type: ignore[assignment]
    def tasks(split: str, prompts: Any) -> tuple[Task, ...]:
        return tuple(Task(f"{split}-{n}", "f", split, text, payload={"n": n}) for n, text in enumerate(prompts))

    made = vector_subject()
    pools = Pools(tasks("train", pool), tasks("validation", validation), tasks("heldout", heldout))
    return Subject(made.config, replace(made.parts, pools=pools))


@pytest.mark.parametrize(
    ("copy", "kind"),
    [
        (LONG, "the same prompt"),
        (LONG.upper(), "the same prompt"),
        (f"  {LONG.replace(',', ' -')}!", "the same prompt"),
        (LONG.replace("afternoon", "evening"), "% of the words"),
        (f"Please answer: {LONG}", "% of the words"),
    ],
)
def test_copies(copy: str, kind: str) -> None:
    found = only(looked(leakage, subject([LONG, "What is 1 + 1?"], heldout=["What is 2 + 2?", copy])))
    assert found.figure == 1.0
    assert kind in found.cause
    assert "heldout-1 of heldout" in found.cause
    assert "train-0 of pool" in found.cause
    assert looked(leakage, subject([LONG], validation=[copy]))


@pytest.mark.parametrize(
    "other",
    [
        LONG.replace("12", "15").replace("7 more", "9 more"),  # the same template
        "A shepherd has 12 sheep and loses 7 of them. How many are left?",
        "",
    ],
)
def test_questions_that_are_no_copies(other: str) -> None:
    assert looked(leakage, subject([LONG], validation=[other])) == []


def test_copies_within_a_pool_are_no_leak() -> None:
    assert looked(leakage, subject([LONG, LONG.lower()], validation=["What is 2 + 2?"])) == []


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_the_toolbox_does_not_leak(level: str) -> None:
    made = vector_subject()
    pools = make_pools(ToolboxFamily(level), TaskConfig(level=level, pool=192, validation=64, heldout=128), 0)
    assert looked(leakage, Subject(made.config, replace(made.parts, pools=pools))) == []


def test_rows_of_a_file_that_differ_in_case_alone(tmp_path: Path) -> None:
    """The family tells rows apart by their text; an agent does not."""
    rows = [{"question": LONG, "answer": "14", "split": "train"}]
    rows += [{"question": LONG.lower(), "answer": "14", "split": "test"}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    family = JsonlFamily(tmp_path / "rows.jsonl")
    made = vector_subject()
    pools = make_pools(family, TaskConfig(name="jsonl", pool=1, validation=0, heldout=1), 0)
    assert only(looked(leakage, Subject(made.config, replace(made.parts, pools=pools)))).figure == 1.0
