"""Rows of published data sets: their shapes, what they are searched in, and how answers are scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from esagent.core.episode import Completion, ToolCall, Trajectory, Turn
from esagent.errors import ConfigError
from esagent.tasks.qa import QaFileFamily
from esagent.tasks.qa.rows import read_rows
from tests.tasks.qa.rows import NATURAL, columns, hotpot, write


def test_hotpot_in_pairs_and_in_columns(tmp_path: Path) -> None:
    rows = read_rows(write(tmp_path / "a.jsonl", [hotpot(1), columns(hotpot(2))]))
    for number, row in enumerate(rows, start=1):
        assert row.answers == (hotpot(number)["answer"],)
        assert [p.title for p in row.paragraphs] == [title for title, _ in hotpot(number)["context"]]
        assert row.paragraphs[2].text == "A lake. Nobody lives there."
        assert row.supporting == tuple(title for title, _ in hotpot(number)["supporting_facts"])


def test_natural_questions(tmp_path: Path) -> None:
    bare = {"question": "who was it", "answer": ["Ann", "Anna"], "split": "test"}
    without = {**NATURAL, "question_text": "why", "annotations": [{"short_answers": [], "long_answer": {}}]}
    closed = {**without, "question_text": "is it", "annotations": [{"short_answers": [], "yes_no_answer": "YES"}]}
    first, second, third = read_rows(write(tmp_path / "a.jsonl", [NATURAL, bare, without, closed]))
    assert (first.question, first.answers) == ("when did the bridge open", ("May 1902",))
    assert [(p.title, p.text) for p in first.paragraphs] == [
        ("The bridge (1)", "The bridge is long ."),
        ("The bridge (2)", "It opened in May 1902 ."),
    ]
    assert first.supporting == ("The bridge (2)",)
    assert (second.answers, second.split, second.paragraphs) == (("Ann", "Anna"), "heldout", ())
    assert third.answers == ("yes",)


def test_shapes_alike(tmp_path: Path) -> None:
    squad = {"question": "a", "answers": {"text": ["x", "y"]}, "ctxs": [{"title": "T", "text": "x is y."}]}
    musique = {
        "question": "b",
        "golden_answers": [1902],
        "paragraphs": [{"title": "P", "paragraph_text": "It was 1902.", "is_supporting": True}],
    }
    one, two = read_rows(write(tmp_path / "a.jsonl", [squad, musique, squad]))  # a repeated question comes once
    assert (one.answers, [p.text for p in one.paragraphs]) == (("x", "y"), ["x is y."])
    assert (two.answers, two.supporting) == (("1902",), ("P",))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "line 2: not JSON"),
        ({"question": "a"}, "line 2: no text under 'answer' or 'answers' or 'golden_answers'"),
        ({"answer": "a"}, "line 2: no text under 'question' or 'question_text'"),
        ({"question": "a", "answer": []}, "line 2: no answer under 'answer'"),
        ({"question": "a", "answer": [{}]}, "line 2: no text under 'answer'"),
        ({"question": "a", "answer": "b", "context": "text"}, "line 2: neither of HotpotQA's nor"),
        ({"question": "a", "answer": "b", "context": [["t"]]}, "line 2: neither of HotpotQA's nor"),
        ({"question": "a", "answer": "b", "context": {"title": ["t"], "sentences": []}}, "line 2: neither of"),
        ({"question": "a", "answer": "b", "context": [["t", [3]]]}, "line 2: neither of HotpotQA's nor"),
        ({"question": "a", "answer": "b", "context": {"title": ["t"]}}, "line 2: neither of HotpotQA's nor"),
        ({"question": "a", "answer": "b", "supporting_facts": [[]]}, "line 2: neither of HotpotQA's nor"),
        ({**NATURAL, "annotations": [{}]}, "line 2: neither of HotpotQA's nor"),
        ({"question": "a", "answer": "b", "split": "tset"}, "line 2: no split 'tset'"),
    ],
)
def test_bad_rows_are_named(row: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        QaFileFamily(write(tmp_path / "a.jsonl", [hotpot(0), row]))
    assert len(caught.value.problems) == 1


def test_a_split_searches_its_own_paragraphs_alone(tmp_path: Path) -> None:
    rows = [{**hotpot(i), "split": "train" if i % 2 else "heldout"} for i in range(6)]
    family = QaFileFamily(write(tmp_path / "a.jsonl", rows))
    train, heldout = family.tasks("train", 0, 3)[0], family.tasks("heldout", 0, 3)[0]
    found = family.env(train).call("search", {"query": "museum 1"})
    assert found.output == "Museum 1 is a museum. It stands in Dorinstad1."
    assert "Museum 1 is" not in family.env(heldout).call("search", {"query": "museum 1"}).output
    assert train.payload["documents"] == [call["result"].split(" is")[0] for call in train.payload["calls"]]


def test_scores(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{**hotpot(3), "split": "train"}])
    for scorer, partial in (("f1", 2 * 1 / (1 + 3)), ("em", 0.0)):
        family = QaFileFamily(path, scorer)
        (task,) = family.tasks("train", 0, 1)
        assert task.payload["answer"] == "Per Holm 3th"
        gold = family.score(task, family.gold(task))
        assert (gold.reward, gold.success, gold.reason) == (1.0, True, "")
        assert gold.signals == {"selector": 1.0, "caller": 1.0, "synthesizer": 1.0}
        guessed = family.score(task, Trajectory((Turn("policy", "", Completion("Holm")),), "Holm"))
        assert guessed.reward == pytest.approx(partial)
        assert guessed.signals == {"policy": guessed.reward}
        assert guessed.reason == "policy"
        env, query = family.env(task), {"query": "museum 3"}
        turns = (
            Turn("planner", "", Completion("look")),
            Turn("selector", "", Completion("search")),
            Turn("caller", "", Completion(""), ToolCall("search", query), env.call("search", query)),
            Turn("synthesizer", "", Completion("Per Holm 3th")),
        )
        half = family.score(task, Trajectory(turns, "Per Holm 3th", ("look",)))
        assert (half.reward, half.signals) == (1.0, {"selector": 1.0, "caller": 0.5})  # one paragraph of two


def test_rows_without_paragraphs_are_answered_from_memory(tmp_path: Path) -> None:
    family = QaFileFamily(
        write(tmp_path / "a.jsonl", [{"question": "who", "answer": ["Ann", "Bea"], "split": "train"}])
    )
    (task,) = family.tasks("train", 0, 1)
    assert task.tools == ()
    assert not family.env(task).call("search", {"query": "Ann"}).ok
    assert family.score(task, Trajectory((), "bea")).reward == 1.0
    assert family.validate() == []


def test_mistakes_of_the_settings(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [hotpot(0)])
    with pytest.raises(ConfigError, match="no scorer 'exact' of answers; there are f1, em"):
        QaFileFamily(path, "exact")
    with pytest.raises(ConfigError, match="cannot read"):
        QaFileFamily(tmp_path / "none.jsonl")
