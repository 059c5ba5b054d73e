"""Known values and refusals of every other tool."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.tools.registry import ToolEnvironment, make_tools

ENV = ToolEnvironment(make_tools(tables={"prices": {"pear": "7"}, "owners": {"pear": "Ann"}}))


@pytest.mark.parametrize(
    ("name", "arguments", "output"),
    [
        ("convert", {"value": 5, "from": "km", "to": "m"}, "5000"),
        ("convert", {"value": "5", "from": "Kilometers", "to": "metres"}, "5000"),
        ("convert", {"value": "1,000.5", "from": "g", "to": "kilograms"}, "1.0005"),
        ("convert", {"value": 5, "from": "miles", "to": "km"}, "8.04672"),
        ("convert", {"value": 98.6, "from": "fahrenheit", "to": "celsius"}, "37"),
        ("convert", {"value": 3, "from": "feet", "to": "inches"}, "36"),
        ("convert", {"value": 1, "from": "min", "to": "h"}, "0.0166667"),
        ("convert", {"value": 2, "from": "weeks", "to": "days"}, "14"),
        ("convert", {"value": 1, "from": "lb", "to": "oz"}, "16"),
        ("days", {"start": "2024-02-01", "end": "2024-03-01"}, "29"),
        ("days", {"start": "2023-3-1", "end": "2023-02-01"}, "-28"),
        ("date", {"start": "2024-02-28", "days": 2}, "2024-03-01"),
        ("date", {"start": "2024-01-01", "days": "-1"}, "2023-12-31"),
        ("date", {"start": "2024-01-01", "days": 7.0}, "2024-01-08"),
        ("weekday", {"date": "2000-01-01"}, "Saturday"),
        ("lookup", {"table": "prices", "key": "pear"}, "7"),
        ("lookup", {"table": " Owners", "key": '"PEAR"'}, "Ann"),
        ("text", {"operation": "reverse", "string": "apple"}, "elppa"),
        ("text", {"operation": "Upper", "string": "'apple'"}, "APPLE"),
        ("text", {"operation": "length", "string": 1234}, "4"),
        ("text", {"operation": "count", "string": "Banana", "letter": "A"}, "3"),
        ("list", {"operation": "max", "items": [4, "9", 2.5]}, "9"),
        ("list", {"operation": "min", "items": "[4, 9, 2.5]"}, "2.5"),
        ("list", {"operation": "sum", "items": ["4 9", "2"]}, "15"),
        ("list", {"operation": "sort", "items": "10, 9, 2"}, "2, 9, 10"),
        ("list", {"operation": "sort", "items": ["pear", "apple"]}, "apple, pear"),
        ("list", {"operation": "count", "items": ["pear", "apple"]}, "2"),
        ("list", {"operation": "max", "items": 5}, "5"),
    ],
)
def test_known_values(name: str, arguments: dict, output: str) -> None:
    result = ENV.call(name, arguments)
    assert (result.ok, result.output) == (True, output)


@pytest.mark.parametrize(
    ("name", "arguments", "part"),
    [
        ("teapot", {}, "there is no tool 'teapot'; there are calculator"),
        ("calculator", {}, "missing argument expression"),
        ("calculator", {"expression": "1", "x": 2}, "unexpected argument 'x'"),
        ("calculator", {"expression": None}, "missing argument expression"),
        ("calculator", {"expression": ["1"]}, "is not text"),
        ("convert", {"value": 5, "from": "km"}, "missing argument to"),
        ("convert", {"value": 5, "from": "km", "to": "kg"}, "cannot convert kilometer to kilogram"),
        ("convert", {"value": 5, "from": "parsec", "to": "m"}, "unknown unit 'parsec'"),
        ("convert", {"value": "five", "from": "km", "to": "m"}, "'five' is not a number"),
        ("convert", {"value": float("nan"), "from": "km", "to": "m"}, "is not a number"),
        ("convert", {"value": float("inf"), "from": "km", "to": "m"}, "is not a number"),
        ("convert", {"value": True, "from": "km", "to": "m"}, "is not text"),
        ("convert", {"value": 10**5000, "from": "km", "to": "m"}, "too large"),
        ("days", {"start": "2023-02-29", "end": "2023-03-01"}, "there is no date '2023-02-29'"),
        ("days", {"start": "tomorrow", "end": "2023-03-01"}, "not a date like 2024-03-15"),
        ("date", {"start": "2023-02-28", "days": 1.5}, "not a whole number"),
        ("date", {"start": "9999-12-31", "days": 1}, "outside the years"),
        ("date", {"start": "2023-02-28", "days": 10**9}, "at most"),
        ("lookup", {"table": "price", "key": "pear"}, "no table 'price'; there is prices, owners"),
        ("lookup", {"table": "prices", "key": "plum"}, "no key 'plum'"),
        ("text", {"operation": "shout", "string": "apple"}, "'shout' is not one of reverse"),
        ("text", {"operation": "count", "string": "apple"}, "missing argument letter"),
        ("text", {"operation": "count", "string": "apple", "letter": "pp"}, "not one letter"),
        ("text", {"operation": "upper", "string": "apple", "letter": "p"}, "unexpected argument letter"),
        ("text", {"operation": "upper", "string": "a" * 301}, "longer than"),
        ("list", {"operation": "max", "items": ["pear"]}, "needs a list of numbers"),
        ("list", {"operation": "max", "items": []}, "1 to 100 items"),
        ("list", {"operation": "max", "items": list(range(101))}, "at most 100 items"),
        ("list", {"operation": "max", "items": {"a": 1}}, "is not text"),
    ],
)
def test_refuses_with_a_reason(name: str, arguments: dict, part: str) -> None:
    result = ENV.call(name, arguments)
    assert not result.ok
    assert part in result.output


dates = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))


@given(dates, st.integers(-5000, 5000))
def test_date_and_days_are_inverse(start: datetime.date, days: int) -> None:
    later = ENV.call("date", {"start": start.isoformat(), "days": days}).output
    assert ENV.call("days", {"start": start.isoformat(), "end": later}).output == str(days)


lengths = st.sampled_from(["mm", "cm", "m", "km", "inch", "foot", "yard", "mile"])


@given(st.integers(1, 10**6), lengths, lengths)
def test_converting_there_and_back(value: int, source: str, target: str) -> None:
    there = ENV.call("convert", {"value": value * 10**6, "from": source, "to": target}).output
    back = float(ENV.call("convert", {"value": there, "from": target, "to": source}).output)
    assert back == pytest.approx(value * 10**6, rel=1e-5)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_no_argument_raises(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*ENV.tools, "", "nope"]))
    own = list(ENV.tools[name].parameters) if name in ENV.tools else ["x"]
    names = st.sampled_from(own) | st.text(max_size=5)
    result = ENV.call(name, data.draw(st.dictionaries(names, junk, max_size=4)))
    assert isinstance(result.output, str)
    assert len(result.output) <= 700


def test_specs_are_json_schema_in_positional_order() -> None:
    specs = {name: tool.spec for name, tool in ENV.tools.items()}
    assert list(specs["convert"].parameters["properties"]) == ["value", "from", "to"]
    assert specs["text"].parameters["required"] == ["operation", "string"]
    assert all(len(spec.parameters["properties"]) <= 3 for spec in specs.values())
    assert len(specs) >= 6


def test_meanings_leave_out_what_is_invalid() -> None:
    convert = ENV.tools["convert"]
    given_arguments = convert.meanings({"value": "5.0", "from": "km", "to": "parsec", "x": 1})
    assert given_arguments == convert.meanings({"value": 5, "from": "kilometres"})
