from fractions import Fraction

import pytest

from esagent.tasks.scorers import contains, exact, number, stated_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", 18),
        ("She makes $18 every day.", 18),
        ("16 - 3 - 4 = 9, and 9 * 2 = 18 dollars", 18),
        ("Natalia sold 48/2 = 24\n#### 72", 72),
        ("The answer is 1,250.50.", Fraction("1250.5")),
        ("\\boxed{-3}", -3),
        ("Answer: 1/3", Fraction(1, 3)),
        ("18 of 18", 18),
        ("1 2 3", None),
        ("none", None),
        ("", None),
        ("1/0", None),
    ],
)
def test_stated_number(text: str, value: Fraction | None) -> None:
    assert stated_number(text) == value


def test_number_compares_values() -> None:
    assert number("it costs 1,250 dollars", "... #### 1250.0") == 1.0
    assert number("1250 or 1251", "1250") == 0.0
    assert number("", "1250") == 0.0


def test_exact_is_lenient_in_form_only() -> None:
    assert exact(' "Paris." ', "paris") == 1.0
    assert exact("Paris, France", "Paris") == 0.0
    assert exact(r"$1-\frac{1}{e}$", r"$1+\frac{1}{e}$") == 0.0


def test_contains_takes_whole_words() -> None:
    assert contains("It is Paris, of course", "paris") == 1.0
    assert contains("114", "14") == 0.0
    assert contains("", "14") == 0.0
