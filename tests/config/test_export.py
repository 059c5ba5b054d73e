from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.config.compose import compose
from esagent.config.export import digest, from_dict, to_dict
from esagent.config.schema import Config
from esagent.errors import ConfigError


def test_there_and_back_through_json() -> None:
    config = compose(["sigma=cosine", "space=core", "sigma.modules={caller: 2.5}", "algorithm.shaping=ranks"])
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config


@given(seed=st.integers(0, 10**6), steps=st.integers(1, 10**6))
def test_digests_are_equal_exactly_when_the_settings_are(seed: int, steps: int) -> None:
    left, right = Config(seed=seed), Config()
    right.budget.steps = steps
    assert digest(left) == digest(from_dict(to_dict(left)))
    assert (digest(left) == digest(right)) == (left == right)


@pytest.mark.parametrize(
    "data", [{"sede": 1}, {"seed": "x"}, {"budget": {"steps": 1.5}}, {"algorithm": {"rule": "sgd"}}]
)
def test_what_does_not_fit_the_schema_is_one_line(data: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        from_dict(data)
    assert len(caught.value.problems) == 1
    assert "\n" not in caught.value.problems[0]
