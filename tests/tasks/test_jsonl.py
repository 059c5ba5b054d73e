import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from esagent.core.episode import Completion, Trajectory, Turn
from esagent.errors import ConfigError, RunError
from esagent.tasks.jsonl import SPLITS, JsonlFamily

GSM8K = Path(__file__).parents[3] / "shared" / "data" / "gsm8k" / "test.jsonl"


def _write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def _rows(n: int, **more: object) -> list[dict]:
    return [{"question": f"What is {i} plus 1?", "answer": str(i + 1), **more} for i in range(n)]


def _answer(text: str) -> Trajectory:
    return Trajectory((Turn("synthesizer", "", Completion(text)),), text)


def test_a_hash_of_the_question_decides_the_split(tmp_path: Path) -> None:
    few = JsonlFamily(_write(tmp_path / "few.jsonl", _rows(200)))
    many = JsonlFamily(_write(tmp_path / "many.jsonl", _rows(400)[::-1]))
    sizes = {}
    for split in SPLITS:
        for n in range(1, 401):
            try:
                owned = {task.prompt for task in few.tasks(split, 0, n)}
            except ConfigError:
                break
        sizes[split] = len(owned)
        everything = {task.prompt for task in many._rows[split]}
        assert owned <= everything
    assert sum(sizes.values()) == 200
    assert sizes["train"] == pytest.approx(80, abs=25)
    assert sizes["validation"] == pytest.approx(30, abs=18)


def test_a_split_column_decides_where_there_is_one(tmp_path: Path) -> None:
    rows = [*_rows(2, split="train"), {"question": "a", "answer": "b", "split": "test"}]
    rows += [{"question": "c", "answer": "d", "split": "dev"}]
    family = JsonlFamily(_write(tmp_path / "rows.jsonl", rows))
    assert [task.prompt for task in family.tasks("heldout", 0, 1)] == ["a"]
    assert [task.prompt for task in family.tasks("validation", 0, 1)] == ["c"]
    assert len(family.tasks("train", 0, 2)) == 2


def test_other_keys_and_numbers_as_answers(tmp_path: Path) -> None:
    path = _write(tmp_path / "rows.jsonl", [{"problem": "1 + 1", "solution": 2, "fold": "train"}, "", "  "])
    family = JsonlFamily(path, question="problem", answer="solution", split="fold")
    (task,) = family.tasks("train", 0, 1)
    assert (task.id, task.prompt, task.payload) == ("rows:1", "1 + 1", {"answer": "2"})


def test_rows_that_repeat_count_once(tmp_path: Path) -> None:
    rows = _rows(3, split="train")
    family = JsonlFamily(_write(tmp_path / "rows.jsonl", rows + rows))
    with pytest.raises(ConfigError, match="3 of its 3 rows are train, 4 were asked for"):
        family.tasks("train", 0, 4)


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: not a JSON object"),
        ("[" * 100_000, "line 2: not JSON"),
        ('{"question": "x", "answer": NaN}', "line 2: not JSON"),
        ('{"question": "x\\ud800", "answer": "y"}', "line 2: the text under 'question' holds half of a surrogate pair"),
        ({"question": "x"}, "line 2: no text under 'answer'; it has question"),
        ({"question": "x", "answer": " "}, "line 2: no text under 'answer'"),
        ({"question": ["x"], "answer": "y"}, "line 2: no text under 'question'"),
        ({"question": "x", "answer": "y", "split": "trian"}, "line 2: no split 'trian'; splits are train"),
        ({"question": "What is 0 plus 1?", "answer": "7"}, "line 2: the question of line 1 with another answer"),
        ({"question": "What is 0 plus 1?", "answer": "1", "split": "test"}, "line 2: the question of line 1"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, row: object, part: str) -> None:
    path = _write(tmp_path / "rows.jsonl", [*_rows(1), row])
    with pytest.raises(ConfigError, match=part) as caught:
        JsonlFamily(path)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n  \n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_lines_may_end_in_any_way_and_a_mark_may_stand_before_them(tmp_path: Path, end: str, mark: bytes) -> None:
    rows = [{"question": f"One\u2028{i}\x85two\x0b?", "answer": "ü", "split": "train"} for i in range(3)]
    text = end.join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / "rows.jsonl").write_bytes(mark + text.encode())
    found = JsonlFamily(tmp_path / "rows.jsonl").tasks("train", 0, 3)
    assert sorted(task.prompt for task in found) == [row["question"] for row in rows]


def test_many_bad_rows_are_counted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        JsonlFamily(_write(tmp_path / "rows.jsonl", ["{"] * 8))
    assert len(caught.value.problems) == 6
    assert caught.value.problems[-1] == "3 more bad rows"


def test_a_gold_answer_without_a_number_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "rows.jsonl", [{"question": "x", "answer": "yes"}])
    with pytest.raises(ConfigError, match="line 1: the answer 'yes' does not state one number"):
        JsonlFamily(path, "number")


def test_bad_files_and_settings(tmp_path: Path) -> None:
    path = _write(tmp_path / "rows.jsonl", _rows(3))
    for make, part in (
        (lambda: JsonlFamily(tmp_path / "none.jsonl"), "cannot read"),
        (lambda: JsonlFamily(_write(tmp_path / "empty.jsonl", [""])), "holds no rows"),
        (lambda: JsonlFamily(path, "exakt"), "no scorer 'exakt'; there are exact, number, contains"),
        (lambda: JsonlFamily(path, shares=(0.5, 0.6, 0.1)), "three numbers that sum to 1"),
        (lambda: JsonlFamily(path, tools=["calculater"]), "no tool 'calculater'"),
    ):
        with pytest.raises(ConfigError, match=part):
            make()
    (tmp_path / "latin.jsonl").write_bytes(b"\xe9\xff")
    with pytest.raises(ConfigError, match="cannot read"):
        JsonlFamily(tmp_path / "latin.jsonl")


def test_a_scorer_of_your_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_scorers.py").write_text(
        "def half(answer, gold):\n    return 0.5 if answer == gold else 0\n"
        "def broken(answer, gold):\n    return 2\n"
        "def raising(answer, gold):\n    raise KeyError(answer)\n"
    )
    path = _write(tmp_path / "rows.jsonl", _rows(1, split="train"))
    family = JsonlFamily(path, "own_scorers:half")
    (task,) = family.tasks("train", 0, 1)
    assert family.score(task, _answer("1")).reward == 0.5
    assert not family.score(task, _answer("1")).success
    assert family.validate() == ["rows:1: '1' scores 0.5, not 1.0"]
    with pytest.raises(RunError, match=r"own_scorers:broken returned 2"):
        JsonlFamily(path, "own_scorers:broken").score(task, _answer("1"))
    with pytest.raises(KeyError):
        JsonlFamily(path, "own_scorers:raising").score(task, _answer("1"))
    with pytest.raises(ConfigError, match="no class 'nope'"):
        JsonlFamily(path, "own_scorers:nope")


@pytest.mark.skipif(not GSM8K.is_file(), reason="the GSM8K file is not beside the repository")
def test_gsm8k_rows() -> None:
    family = JsonlFamily(GSM8K, "number", tools=["calculator"])
    assert family.validate() == []
    assert sum(len(rows) for rows in family._rows.values()) > 600
    task = family.tasks("heldout", 0, 1)[0]
    assert family.env(task).call("calculator", {"expression": "16 - 3 - 4"}).output == "9"
