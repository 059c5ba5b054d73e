import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.config.schema import Rule
from esagent.core.episode import Score
from esagent.runs.jsonio import canonical, parse, plain, pretty, restore

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def _same(a: object, b: object) -> bool:
    """Equal with the sign of zero and nan told apart."""
    return repr(a) == repr(b)


@given(VALUES)
def test_the_lossless_form_comes_back_through_text(value: object) -> None:
    text = canonical(plain(value, lossless=True))
    assert "\n" not in text
    back = restore(json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON")))
    assert canonical(plain(back, lossless=True)) == text
    assert _same(_sorted(back), _sorted(value))


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {k: _sorted(value[k]) for k in sorted(value)}
    return [_sorted(v) for v in value] if isinstance(value, list) else value


def test_numpy_dataclasses_enums_paths_and_keys_that_are_numbers() -> None:
    value = {
        10: np.float32(0.1),
        2: np.arange(3),
        "score": Score(0.5, {"caller": 1.0}),
        "rule": Rule.adam,
        "path": Path("a/b"),
        "set": {3, 1},
        "seed": np.uint64(2**64 - 1),
    }
    assert plain(value) == {
        "10": float(np.float32(0.1)),
        "2": [0, 1, 2],
        "score": {"reward": 0.5, "signals": {"caller": 1.0}, "reason": "", "success": False, "unscored": False},
        "rule": "adam",
        "path": "a/b",
        "set": [1, 3],
        "seed": 2**64 - 1,
    }


def test_a_dict_that_looks_like_the_tag_stays_as_it_is() -> None:
    assert restore({"float": "wide"}) == {"float": "wide"}
    assert math.isnan(restore({"float": "nan"}))


def test_the_form_for_readers_has_null_for_what_is_not_finite() -> None:
    assert json.loads(pretty({"a": [math.nan, math.inf, 1.5], "b": "é"})) == {"a": [None, None, 1.5], "b": "é"}


def test_what_has_no_json_form_is_named() -> None:
    with pytest.raises(TypeError, match="complex"):
        plain({"a": 1j})


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', "[Infinity]", "-Infinity", "", "{", "[" * 100_000, b"\xff\xfe\x00", b"\xe9"]
)
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse(text)


def test_integers_of_any_size_and_text_in_utf_8_are_read() -> None:
    assert parse('{"é": 18446744073709551615}'.encode()) == {"é": 2**64 - 1}
