"""Expressions, search, puzzles and the reward of countdown."""

from __future__ import annotations

import json
import logging
import re
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.episode import Completion, Task, Trajectory, Turn
from esagent.errors import ConfigError
from esagent.tasks.base import Split
from esagent.tasks.countdown import CountdownFamily
from esagent.tasks.countdown.expression import parse
from esagent.tasks.countdown.solve import most_expressions, solve
from tests.helpers.data import data

SPLITS: tuple[Split, ...] = get_args(Split)

expressions = st.recursive(
    st.integers(0, 99).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map("-{}".format),
    ),
    max_leaves=6,
)


@given(expressions)
def test_values_and_numbers_are_those_of_python(text: str) -> None:
    found = parse(text)
    assert found is not None
    assert list(found.numbers) == [int(number) for number in re.findall(r"\d+", text)]
    exact = re.sub(r"\d+", lambda match: f"Fraction({match[0]})", text)
    try:
        assert found.value == eval(exact)
    except ZeroDivisionError:
        assert found.value is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "()",
        "1 +",
        "2 ** 3",
        "7 // 2",
        "1, 2",
        "1 2",
        "(1",
        "x + 1",
        "__import__('os')",
        "1.5 + 2",
        "1e3",
        "0x10",
        "007 + 1",
        "1 = 1",
        "1_000",
        "٣ + 4",
        "(" * 150 + "1" + ")" * 50,
        "1" + " + 1" * 100,
        "f(1)",
        "1 if 2 else 3",
        "-" * 199 + ")",
    ],
)
def test_what_is_no_expression(text: str) -> None:
    assert parse(text) is None


def test_other_signs_for_the_same() -> None:
    found = parse(" 6 × (8 ÷ 4) − 2 ")
    assert found is not None
    assert found.value == 10


@given(st.text(max_size=60) | st.text(alphabet="0123456789+-*/() ", max_size=220))
def test_no_text_breaks_the_parser(text: str) -> None:
    parse(text)


def test_search_finds_what_there_is_and_nothing_else() -> None:
    for numbers, target in (((3, 3, 8, 8), 24), ((1, 5, 5, 5), 24), ((99, 58, 80), Fraction(58, 19))):
        found = parse(solve(numbers, lambda value, target=target: value == target) or "")  # type: ignore[misc]
        assert found is not None
        assert (found.value, sorted(found.numbers)) == (target, sorted(numbers))
    assert solve((1, 1, 1, 1), lambda value: value == 24) is None
    assert solve((2, 3), lambda value: value == 7) is None


def test_search_tries_every_expression() -> None:
    tried: list[Fraction] = []
    assert solve((2, 3, 7), lambda value: bool(tried.append(value))) is None
    assert len(tried) == 3 * 6 * 6  # 3 pairs, 6 ways to combine the pair, 6 to combine the rest
    assert len(tried) <= most_expressions(3) == 108


TASK = Task(
    "t", "countdown", "train", "Combine 3, 8, 3, 8.", (), {"numbers": [3, 8, 3, 8], "target": "24", "solution": ""}
)


def _reward(answer: str, raw: str | None = None, family: CountdownFamily | None = None) -> float:
    turn = Turn("policy", "", Completion(answer if raw is None else raw))
    return (family or CountdownFamily()).score(TASK, Trajectory((turn,), answer)).reward


@pytest.mark.parametrize(
    ("answer", "total"),
    [
        ("<answer>8 / (3 - 8 / 3)</answer>", 1.1),
        ("8 / (3 - 8 / 3)", 1.1),
        ("I get <answer>8 / (3 - 8 / 3)</answer>", 1.05),
        ("<answer>1</answer><answer>8 / (3 - 8 / 3)</answer>", 1.05),
        ("<answer>8 * 3</answer>", 0.1),
        ("<answer>8 + 8 + 8</answer>", 0.1),
        ("<answer>3 * 8 * 3 / 3 + 8 - 8</answer>", 0.1),
        ("<answer>8 / (8 - 8)</answer>", 0.1),
        ("<answer>24</answer> or so", 0.05),
        ("24", 0.0),
        ("8 / (3 - 8 / 3) = 24", 0.0),
        ("<answer>twenty-four</answer>", 0.0),
        ("<answer>8 / (3 - 8 / 3)", 0.0),
        ("", 0.0),
    ],
)
def test_the_reward_of_es_at_scale(answer: str, total: float) -> None:
    assert _reward(answer) == pytest.approx(total / 1.1)
    assert _reward(answer, family=CountdownFamily(reward="answer")) == float(total > 1)


def test_a_closed_reasoning_block_alone_earns_a_tenth_of_the_format() -> None:
    assert _reward("no idea", "<think>hm</think>no idea") == pytest.approx(0.01 / 1.1)


def test_puzzles_are_solved_by_their_solution_and_numbers_stay_in_their_split() -> None:
    family, owned = CountdownFamily(), []
    for split in SPLITS:
        found = family.tasks(split, 0, 25)
        owned.append({tuple(sorted(task.payload["numbers"])) for task in found})
        for task in found:
            solution = parse(task.payload["solution"])
            assert solution is not None
            assert sorted(solution.numbers) == sorted(task.payload["numbers"])
            assert solution.value == int(task.payload["target"])
            assert 10 <= solution.value <= 100
    assert not owned[0] & owned[1] | owned[0] & owned[2] | owned[1] & owned[2]


def _rows(path: Path, *rows: dict[str, object]) -> CountdownFamily:
    path.write_text("\n".join(map(json.dumps, rows)))
    return CountdownFamily(str(path), shares=(0, 0, 1))


def test_rounded_targets_wrong_solutions_and_puzzles_without_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        family = _rows(
            tmp_path / "rows.jsonl",
            {"numbers": [60, 10, 57, 80], "target": "266.6666666666667", "solution": "((10 / (60 - 57)) * 80)"},
            {"numbers": [2, 3], "target": 6, "solution": "2 + 3"},
            {"numbers": [2, 3], "target": "7", "solution": None},
            {"nums": [3, 2], "target": "6"},
            {"numbers": [1, 3], "target": "0.333333", "solution": None},
        )
    found = {task.payload["target"]: task for task in family.tasks("heldout", 0, 2)}
    assert set(found) == {"800/3", "6"}
    assert "266.6666666666667" in found["800/3"].prompt
    assert found["6"].payload["solution"] == "(2 * 3)"
    assert "2 puzzles have no solution and are left out" in caplog.text
    assert family.validate() == []


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ({"target": "1"}, "line 1: 'numbers' must be a list of at least two whole numbers"),
        ({"numbers": [1, 2.5], "target": "1"}, "line 1: 'numbers' must be"),
        ({"numbers": [1, 2], "target": "many"}, "line 1: the target 'many' is not a number"),
        ({"numbers": [1, 2], "target": "nan"}, "line 1: the target 'nan' is not a number"),
        ({"numbers": [1, 2]}, "line 1: no text under 'target'"),
        ({"numbers": [1, 2, 3, 4, 5, 6], "target": "1"}, "line 1: the solution of 6 numbers is missing"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: dict[str, object], part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        _rows(tmp_path / "rows.jsonl", row)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"sizes": [1]}, "whole numbers from 2 to 6"),
        ({"sizes": 3}, "whole numbers from 2 to 6"),
        ({"highest": 1}, "at least 2"),
        ({"targets": [5]}, "the lowest and the highest"),
        ({"reward": "copes"}, "no 'copes'; there are graded, answer"),
        ({"shares": [1]}, "three numbers"),
        ({"tools": ["abacus"]}, "no tool 'abacus'"),
        ({"path": "missing.jsonl"}, "cannot read missing"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        CountdownFamily(**options)  # type: ignore[arg-type]


def test_a_used_up_split_says_how_many_there_are() -> None:
    with pytest.raises(ConfigError, match=r"countdown has \d+ heldout tasks, 500 were asked for"):
        CountdownFamily(sizes=[2], highest=3, targets=[1, 9]).tasks("heldout", 0, 500)


def test_public_rows() -> None:
    family = CountdownFamily(str(data("countdown")))
    assert {split: len(rows) for split, rows in family._rows.items()} == {
        "train": 156,
        "validation": 44,
        "heldout": 992,
    }
    assert family.validate() == []
