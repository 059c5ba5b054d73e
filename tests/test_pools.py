"""What a family of a user's own may give, and what is refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from esagent.core.episode import Task
from esagent.errors import ConfigError
from esagent.pools import take


def tasks(split: str, n: int, **changed: Any) -> list[Task]:
    return [
        Task(**{"id": f"{split}-{i}", "family": "f", "split": split, "prompt": f"{i}?"} | changed) for i in range(n)
    ]


class Family:
    name = "f"

    def __init__(self, give: Any) -> None:
        self.give = give

    def tasks(self, split: str, seed: int, n: int) -> Any:
        return self.give(split, n)


def test_any_sequence_will_do() -> None:
    assert take(Family(lambda split, n: iter(tasks(split, n))), "train", 0, 3) == tuple(tasks("train", 3))


def broken(split: str, n: int) -> Any:
    raise RuntimeError("two\nlines")


@pytest.mark.parametrize(
    ("give", "says"),
    [
        (broken, r"fails: RuntimeError: two lines \(test_pools.py, line \d+\)"),
        (lambda split, n: None, "fails: TypeError: 'NoneType' object is not iterable"),
        (lambda split, n: tasks(split, n - 1), "gives 2 tasks"),
        (lambda split, n: tasks(split, n + 1), "gives 4 tasks"),
        (lambda split, n: [{"id": "a"}] * n, "gives a dict in place 0, not a Task"),
        (lambda split, n: tasks(split, n, id="a"), "gives two tasks of the id 'a'"),
        (
            lambda split, n: tasks(split, n, prompt=None),
            "gives a task in place 0 whose prompt is a NoneType, not a text",
        ),
        (
            lambda split, n: tasks(split, n, payload={"x": object()}),
            "whose payload cannot be kept: cannot write a object",
        ),
        (lambda split, n: tasks(split, n, prompt="\ud800"), "whose prompt holds half of a surrogate pair"),
        (lambda split, n: tasks(split, n, payload={"x": {1, "a"}}), "whose payload cannot be kept"),
    ],
)
def test_what_a_family_must_not_give_is_one_line(give: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=rf"^task: f.tasks\('train', 7, 3\) .*{says}") as caught:
        take(Family(give), "train", 7, 3)
    assert len(caught.value.problems) == 1
