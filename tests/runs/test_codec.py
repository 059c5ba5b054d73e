import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.core.population import Perturbation, Population, Update, UpdateTerm
from esagent.errors import RunError
from esagent.runs.codec import decode_population, decode_update, encode_population, encode_update
from tests.runs.vector_backend import update_of

SEEDS = st.integers(0, 2**64 - 1)
NUMBERS = st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False), max_size=3)
UPDATES = st.builds(
    Update,
    st.integers(0, 10**6),
    st.lists(st.builds(UpdateTerm, SEEDS, NUMBERS), max_size=4).map(tuple),
    NUMBERS,
    st.sampled_from(["plain", "momentum", "adam"]),
    st.booleans(),
    NUMBERS,
)
POPULATIONS = st.builds(
    Population,
    st.integers(0, 10**6),
    st.lists(st.builds(Perturbation, SEEDS, st.sampled_from([-1, 1]), NUMBERS), max_size=6).map(tuple),
    st.booleans(),
)


@given(UPDATES)
def test_updates_come_back_exactly(update: Update) -> None:
    back = decode_update(json.loads(json.dumps(encode_update(update), allow_nan=False)))
    assert repr(back) == repr(update)  # repr tells -0.0 from 0.0


@given(POPULATIONS)
def test_populations_come_back_exactly(population: Population) -> None:
    back = decode_population(json.loads(json.dumps(encode_population(population), allow_nan=False)))
    assert repr(back) == repr(population)


@pytest.mark.parametrize("damage", [{"terms": [[1]]}, {"terms": 3}, {"step": "x"}, {"scalars": [1]}])
def test_what_is_no_update_is_a_run_error(damage: dict[str, object]) -> None:
    with pytest.raises(RunError, match="update that cannot be read"):
        decode_update(encode_update(update_of(0)) | damage)
    with pytest.raises(RunError, match="update that cannot be read"):
        decode_update({"step": 1})
