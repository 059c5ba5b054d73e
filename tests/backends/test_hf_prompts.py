"""What new prompts have in common with kept ones, and with each other."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from esagent.backends.hf.prompts import PromptStates, common, waves

TEXTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=14).map(tuple), min_size=1, max_size=12, unique=True)
PREFIX = (9, 9)


def filled(texts: list[tuple[int, ...]], max_bytes: int = 1 << 20) -> PromptStates:
    states = PromptStates(max_bytes)
    for text in texts:
        states.keep((PREFIX, text), torch.zeros(2, 1, len(text), 1, 1), torch.zeros(2, 1, len(text), 1, 1))
    return states


def test_common_leaves_out_the_last_token_of_either() -> None:
    assert common((1, 2, 3), (1, 2, 4)) == 2
    assert common((1, 2, 3), (1, 2, 3)) == 2
    assert common((1, 2), (1, 2, 3)) == 1
    assert common((1,), (1, 2, 3)) == 0
    assert common((1, 2, 3), (2, 2, 3)) == 0


@given(TEXTS, st.lists(st.integers(0, 2), min_size=1, max_size=14).map(tuple))
def test_the_closest_is_the_one_with_most_in_common(kept: list[tuple[int, ...]], text: tuple[int, ...]) -> None:
    found = filled(kept).closest((PREFIX, text))
    most = max(common(other, text) for other in kept)
    if most < 4:
        assert found.parent is None
        assert found.shared == 0
    else:
        assert found.parent is not None
        assert found.parent[1] in kept
        assert found.shared == most == common(found.parent[1], text)


def test_another_prefix_has_nothing_in_common() -> None:
    text = (1, 2, 3, 4, 5, 6)
    assert filled([text]).closest(((8,), text)).parent is None


@given(TEXTS, TEXTS)
def test_every_prompt_is_read_once_and_behind_what_it_goes_on_from(
    kept: list[tuple[int, ...]], new: list[tuple[int, ...]]
) -> None:
    new = [text for text in new if text not in kept]
    states = filled(kept)
    known = {(PREFIX, text) for text in kept}
    plan = waves([(PREFIX, text) for text in new], states, pass_tokens=4)
    for wave in plan:
        for reading in wave:
            assert reading.parent is None or reading.parent in known
            assert reading.shared == (common(reading.parent[1], reading.key[1]) if reading.parent else 0)
        known |= {reading.key for reading in wave}
    assert sorted(r.key for wave in plan for r in wave) == sorted((PREFIX, text) for text in new)


def test_a_second_wave_has_to_pay_for_its_pass() -> None:
    new = [(PREFIX, (*range(20), last, 7)) for last in range(3)]
    assert [len(wave) for wave in waves(new, PromptStates(0), pass_tokens=39)] == [1, 2]
    assert [len(wave) for wave in waves(new, PromptStates(0), pass_tokens=40)] == [3]


def test_a_forgotten_prompt_is_no_beginning_of_others() -> None:
    one, two = (1, 2, 3, 4, 5, 6), (3, 2, 3, 4, 5, 6)
    states = filled([one, two], max_bytes=100)  # each takes 96
    states.get([(PREFIX, two)])
    assert states.missing([(PREFIX, one), (PREFIX, two)]) == [0]
    assert states.closest((PREFIX, (*one, 7))).parent is None
    assert states.closest((PREFIX, (*two, 7))).shared == 5
