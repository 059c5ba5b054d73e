import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.runs.seal import is_sound, sealed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4), st.text(max_size=4))
def test_a_sealed_record_survives_json_and_belongs_to_one_owner(body: dict[str, object], owner: str) -> None:
    record = json.loads(json.dumps(sealed(body, owner)))
    assert is_sound(record, owner)
    assert not is_sound(record, owner + "x")


def test_every_flipped_bit_of_its_text_is_found() -> None:
    text = json.dumps(sealed({"a": 0.1, "b": [1, None, "x"], "c": {"d": True}}, "run"), separators=(",", ":")).encode()
    for at in range(8 * len(text)):
        flipped = bytearray(text)
        flipped[at // 8] ^= 1 << at % 8
        try:
            record = json.loads(flipped)
        except ValueError:
            continue
        assert not is_sound(record, "run") or record == json.loads(text)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"a": 1}, {"checksum": None}, {"checksum": "0" * 64}])
def test_what_is_no_sealed_record(value: object) -> None:
    assert not is_sound(value)


def test_sealing_again_replaces_the_seal() -> None:
    assert sealed(sealed({"a": 1}, "one"), "two") == sealed({"a": 1}, "two")
