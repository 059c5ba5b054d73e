from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.tools.calculator import CALCULATOR, parse

numbers = st.integers(0, 99).map(lambda n: (str(n), Fraction(n)))


def _binary(children: st.SearchStrategy) -> st.SearchStrategy:
    def join(left: tuple, right: tuple, operator: str) -> tuple:
        text = f"({left[0]}) {operator} ({right[0]})"
        values = {"+": left[1] + right[1], "-": left[1] - right[1], "*": left[1] * right[1]}
        return text, values[operator]

    return st.builds(join, children, children, st.sampled_from("+-*"))


@given(st.recursive(numbers, _binary, max_leaves=8))
def test_agrees_with_exact_arithmetic(expression: tuple[str, Fraction]) -> None:
    text, value = expression
    assert CALCULATOR.run({"expression": text}).output == str(value)


flat = st.lists(st.tuples(st.sampled_from(["+", "-", "*", "%", "//"]), st.integers(1, 30)), min_size=1, max_size=6)


@given(st.integers(0, 30), flat)
def test_precedence_is_pythons(first: int, rest: list[tuple[str, int]]) -> None:
    text = str(first) + "".join(f" {'*' if op == '//' else op} {n}" for op, n in rest)
    assert parse(text).value == eval(text)  # built above from digits and operators alone


@pytest.mark.parametrize(
    ("expression", "output"),
    [
        ("20 - 6", "14"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "-4"),
        ("2 ** -2", "0.25"),
        ("7 % 3", "1"),
        ("-7 % 3", "2"),
        ("0.1 + 0.2", "0.3"),
        ("1 / 3", "0.333333"),
        ("2 / 3", "0.666667"),
        ("100 / 3", "33.333333"),
        ("1 / 3000", "0.000333333"),
        ("6 / 3", "2"),
        ("1,250 + 1", "1251"),
        ("6 × 7", "42"),
        ("8 ÷ 2", "4"),
        ("3 ^ 2", "9"),
        ("12 =", "12"),
        ("'3 + 4'", "7"),
    ],
)
def test_known_values(expression: str, output: str) -> None:
    result = CALCULATOR.run({"expression": expression})
    assert (result.ok, result.output) == (True, output)


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("1 / 0", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("1 % 0", "division by zero"),
        ("2 +", "ends too early"),
        ("(2 + 3", "closing parenthesis"),
        ("2 3", "unexpected '3'"),
        ("* 2", "unexpected '*'"),
        ("__import__('os')", "cannot read"),
        ("9 ** 64", "too large"),
        ("2 ** 65", "exponent"),
        ("2 ** 0.5", "exponent"),
        ("9" * 40, "too large"),
        ("(" * 100 + "1" + ")" * 100, "nested too deep"),
        ("-" * 100 + "1", "nested too deep"),
        ("1+" * 400 + "1", "longer than"),
    ],
)
def test_refuses_with_a_reason(expression: str, part: str) -> None:
    result = CALCULATOR.run({"expression": expression})
    assert not result.ok
    assert part in result.output


def test_meaning_ignores_order_but_not_the_work() -> None:
    assert parse("20 * 6") == parse("6*20")
    assert parse("20 * 6") != parse("120")
    assert parse("20 - 6") != parse("6 - 20")
