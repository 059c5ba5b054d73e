from __future__ import annotations

import pytest

from esagent.config.layers import parse_layers
from esagent.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2-4", [2, 3, 4]),
        ("5,1,1-2", [1, 2, 5]),
        ("last:2", [4, 5]),
        ("last:1/2", [3, 4, 5]),
        ("last:1/100", [5]),
        ("all", [0, 1, 2, 3, 4, 5]),
        ("0", [0]),
    ],
)
def test_layers_of_a_six_layer_model(text: str, expected: list[int]) -> None:
    assert parse_layers(text, 6) == expected


@pytest.mark.parametrize(
    "text", ["", "x", "4-2", "6", "0-6", "last:0", "last:7", "last:3/2", "last:1/0", "last:", "-1", "1,,2"]
)
def test_nonsense_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"space\.layers"):
        parse_layers(text, 6)


def test_an_unknown_depth_leaves_only_the_form_to_check() -> None:
    assert parse_layers("100-200", None) == []
    with pytest.raises(ConfigError):
        parse_layers("ten", None)
