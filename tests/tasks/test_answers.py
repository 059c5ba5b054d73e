import pytest

from esagent.tasks.toolbox.answers import matches

_LONGER = ("14 pens pens", "What is 20 minus 6?", "14 or 15", "1 4", "١٤")


@pytest.mark.parametrize(
    "answer",
    [
        "14",
        " 14 ",
        "14.",
        "14!",
        "'14'",
        "**14**",
        "14.0",
        "The answer is 14.",
        "Answer: 14",
        "= 14",
        "It is 14 pens.",
        "14 pens",
    ],
)
def test_right_with_a_short_carrier(answer: str) -> None:
    assert matches(answer, ["14"], ["pens"])


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " ",
        ".",
        "The answer is",
        "pens",
        "15",
        "-14",
        "114",
        "14 15",
        "13, 14, 15",
        "20 - 6 = 14",
        "14 meters",
        *_LONGER,
    ],
)
def test_wrong(answer: str) -> None:
    assert not matches(answer, ["14"], ["pens"])


def test_thousands_and_decimals() -> None:
    assert matches("5,000 meters", ["5000"], ["meters"])
    assert not matches("50,00", ["5000"])
    assert matches("8.0467200", ["8.04672"])
    assert not matches("8.05", ["8.04672"])


def test_case_counts() -> None:
    assert not matches("apple", ["APPLE"])
    assert matches("thursday", ["Thursday", "thursday"])


def test_lists_compare_item_by_item() -> None:
    assert matches("[2, 9, 10]", ["2, 9, 10"])
    assert matches("2 9 10", ["2, 9, 10"])
    assert not matches("9, 2, 10", ["2, 9, 10"])
    assert not matches("2, 9, 10, 11", ["2, 9, 10"])
