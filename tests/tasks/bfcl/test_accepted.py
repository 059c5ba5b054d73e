"""The rules for one argument, by hand; test_parity.py holds them to the package's own checker on real rows."""

from __future__ import annotations

from typing import Any

import pytest

from esagent.tasks.bfcl.accepted import accepts, right_arguments

TEXT, WHOLE, FLOAT, FLAG = ({"type": name} for name in ("string", "integer", "float", "boolean"))
TEXTS, WHOLES = ({"type": "array", "items": {"type": name}} for name in ("string", "integer"))
PAIR = {"type": "tuple", "items": {"type": "float"}}
DICT, DICTS = {"type": "dict"}, {"type": "array", "items": {"type": "dict"}}


@pytest.mark.parametrize(
    ("described", "accepted", "right", "wrong"),
    [
        (TEXT, ["New York, NY", "NYC"], ["new york ny", "NYC.", "New-York/NY"], ["York", "", 5, None, ["NYC"]]),
        (WHOLE, [5], [5], [5.0, "5", True, 6]),
        (FLOAT, [5.0], [5, 5.0], ["5", 5.1, True]),
        (FLAG, [True], [True], [1, "True", False]),
        (TEXTS, [["a b", "c"]], [["A B", "c."]], [["c", "a b"], ["a b"], "a b", [], ["a b", 1]]),
        (WHOLES, [[1, 2]], [[1, 2]], [[1], [2, 1], [1.0, 2.0], [True, 2], []]),
        (WHOLES, [[1, 2], ""], [[1, 2], []], [[1], [2, 1]]),
        (PAIR, [[1.5, 2.0]], [[1.5, 2.0], (1.5, 2.0)], [[1.5], [1.5, "2"]]),
        (
            DICT,
            [{"k": ["A", "b"], "o": [1, ""]}],
            [{"k": "a"}, {"k": "B", "o": 1}],
            [{}, {"k": "c"}, {"k": "a", "x": 1}],
        ),
        (DICTS, [[{"k": [1]}, {"k": [2]}]], [[{"k": 1}, {"k": 2}]], [[{"k": 2}, {"k": 1}], [{"k": 1}], [1, 2]]),
        (WHOLE, ["x"], ["x"], ["X", 1]),
    ],
)
def test_one_argument(described: dict, accepted: list[Any], right: list[Any], wrong: list[Any]) -> None:
    assert all(accepts(accepted, value, described) for value in right)
    assert not any(accepts(accepted, value, described) for value in wrong)


def test_share_of_right_arguments() -> None:
    described = {"properties": {"a": WHOLE, "b": TEXT, "c": FLAG}, "required": ["a", "b"]}
    accepted = {"a": [1], "b": ["x"], "c": [True, ""]}
    assert right_arguments(accepted, {"a": 1, "b": "x"}, described) == 1.0
    assert right_arguments(accepted, {"a": 1, "b": "x", "c": True}, described) == 1.0
    assert right_arguments(accepted, {"a": 1, "b": "y"}, described) == 0.5
    assert right_arguments(accepted, {"a": 1}, described) == 0.5
    assert right_arguments(accepted, {"a": 1, "b": "x", "d": 3}, described) == pytest.approx(2 / 3)
    assert right_arguments({}, {}, {"properties": {}}) == 1.0
