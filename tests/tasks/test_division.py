"""Near-duplicates, and rows divided into splits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.errors import ConfigError
from esagent.tasks.division import check_shares, divide
from esagent.tasks.neighbours import near_duplicates, normalised

SHARES = (0.4, 0.15, 0.45)
JAMES = "James has {} more than {} times the number of cookies Jordan has. If there are {} in all, how many has James?"


def test_normalised() -> None:
    assert normalised("It's 1,234.5 km -- or $x^2$!") == "it s 0 km or x 0"


def test_a_question_with_other_numbers_or_a_few_other_words_is_a_near_duplicate() -> None:
    texts = [
        JAMES.format(7, 4, 52),
        "A train travels 270 miles in 3 hours. How long does it take for 180 miles more at the same rate?",
        JAMES.format(3, 2, 36),
        JAMES.format(3, 2, 36).replace("how many has James", "how many does Jordan have"),
        "What is the sum of all primes below twenty?",
    ]
    assert near_duplicates(texts) == [0, 1, 0, 0, 4]


def test_half_of_the_shingles_decide() -> None:
    words = list("abcdefghijk")  # 8 shingles of four words
    same = [*words[:7], "x", "y", "z"]  # 7 shingles, 4 of them the same: 4 of 11 in all
    assert near_duplicates([" ".join(words), " ".join(same)]) == [0, 1]
    same = [*words[:9], "x"]  # 7 shingles, 6 the same: 6 of 9
    assert near_duplicates([" ".join(words), " ".join(same)]) == [0, 0]


texts = st.lists(st.text(alphabet="ab 1", max_size=12), max_size=8)


@settings(max_examples=40)
@given(texts)
def test_groups_are_an_equivalence(found: list[str]) -> None:
    groups = near_duplicates(found)
    assert all(groups[first] == first <= at for at, first in enumerate(groups))
    assert all(groups[i] == groups[j] for i, a in enumerate(found) for j, b in enumerate(found) if a == b)


def test_shares_are_kept_and_more_rows_move_no_other() -> None:
    names = [f"row {i}" for i in range(2000)]
    found = divide(names, names, [None] * 2000, SHARES)
    assert found.count("train") == pytest.approx(800, abs=70)
    assert found.count("validation") == pytest.approx(300, abs=50)
    assert divide(names[:50], names[:50], [None] * 50, SHARES) == found[:50]


def test_a_group_stays_together_whichever_row_comes_first() -> None:
    groups, names = [i // 2 for i in range(200)], [f"row {i}" for i in range(200)]
    found = divide(groups, names, [None] * 200, SHARES)
    assert found[::2] == found[1::2]
    assert divide(groups[::-1], names[::-1], [None] * 200, SHARES) == found[::-1]


def test_what_is_reported_on_wins_over_what_is_trained_on() -> None:
    groups = ["a", "a", "b", "b", "c", "c"]
    named = ["train", "heldout", "train", "validation", None, "heldout"]
    found = divide(groups, list("uvwxyz"), named, SHARES)  # type: ignore[arg-type]
    assert found == [None, "heldout", None, "validation", "heldout", "heldout"]


def test_a_set_without_validation_rows_gives_some_of_its_training_rows() -> None:
    names = [f"row {i}" for i in range(1100)]
    found = divide(names, names, ["train"] * 1000 + ["heldout"] * 100, SHARES)  # type: ignore[arg-type]
    assert found[1000:] == ["heldout"] * 100
    assert found.count("validation") == pytest.approx(1000 * 0.15 / 0.55, abs=60)
    assert divide(names, names, ["train"] * 1100, SHARES) == ["train"] * 1100  # type: ignore[arg-type]


@pytest.mark.parametrize("shares", ["abc", (1, 0), (0.5, 0.5, 0.5), (1.5, -0.5, 0), (True, 0, 0)])
def test_shares_that_are_none(shares: object) -> None:
    with pytest.raises(ConfigError, match="three numbers that sum to 1"):
        check_shares(shares)  # type: ignore[arg-type]
