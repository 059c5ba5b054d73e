"""How seeds that a study lacks are told."""

from __future__ import annotations

import pytest

from esagent.report.verdicts import ranges


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([4], "4"), ([5, 4], "4, 5"), ([0, 1, 2], "0 to 2"), ([9, 3, 5, 6, 7, 8, 12], "3, 5 to 9, 12")],
)
def test_seeds_that_follow_one_another_are_a_range(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text
