"""Exact match and F1 against values worked out by hand."""

import pytest

from esagent.tasks.qa.answers import exact_match, f1, normalised


@pytest.mark.parametrize(
    ("answer", "accepted", "match", "score"),
    [
        ("Anna Barlow", ["Anna Barlow"], 1.0, 1.0),
        ("the anna  barlow.", ["Anna Barlow"], 1.0, 1.0),
        ("Barlow", ["Anna Barlow"], 0.0, 2 / 3),  # 1 of 1 given, 1 of 2 wanted
        ("Barlow Anna", ["Anna Barlow"], 0.0, 1.0),  # F1 does not see order
        ("it is Anna Barlow", ["Anna Barlow"], 0.0, 2 / 3),  # 2 of 4, 2 of 2
        ("Barlow Barlow", ["Anna Barlow"], 0.0, 1 / 2),  # a word counts as often as it is wanted
        ("Barlow", ["Peter", "Anna Barlow", "Barlow"], 1.0, 1.0),
        ("Barlow", [], 0.0, 0.0),
        ("", ["Barlow"], 0.0, 0.0),
        (" .", ["Barlow"], 0.0, 0.0),
        ("the", ["The"], 1.0, 1.0),
        ("yes", ["yes"], 1.0, 1.0),
        ("yes it is", ["yes"], 0.0, 0.0),  # a closed answer shares no credit
        ("no", ["no one"], 0.0, 0.0),
        ("1,902", ["1902"], 1.0, 1.0),
    ],
)
def test_values(answer: str, accepted: list[str], match: float, score: float) -> None:
    assert exact_match(answer, accepted) == match
    assert f1(answer, accepted) == pytest.approx(score)


def test_normalising_is_idempotent() -> None:
    for text in ("The Silver-Harbor!", "a", "...", "An  apple, the pear", "théâtre"):
        assert normalised(normalised(text)) == normalised(text)
