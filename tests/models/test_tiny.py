"""The tiny models themselves: what backend tests rely on."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.tiny import HYBRID, KINDS, make_tiny, make_tiny_folder, make_tokenizer


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_decodes_to_itself(text: str) -> None:
    tokenizer = make_tokenizer()
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


@pytest.mark.parametrize("kind", [*KINDS, HYBRID])
def test_same_seed_same_weights_other_seed_other_weights(kind: str) -> None:
    (first, _), (again, _), (other, _) = make_tiny(kind), make_tiny(kind), make_tiny(kind, seed=1)
    weights, same, different = first.state_dict(), again.state_dict(), other.state_dict()
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert not any(torch.equal(weights[name], different[name]) for name in weights)


@pytest.mark.parametrize("kind", [*KINDS, HYBRID])
def test_folder_reloads_and_generates_varied_text(kind: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = make_tiny_folder(tmp_path / kind, kind)
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(["Question: 12 + 30?", "Tool: dates"], return_tensors="pt", padding=True)
    out = model.generate(**batch, max_new_tokens=12, do_sample=False)[:, batch["input_ids"].shape[1] :]
    assert len({tuple(row.tolist()) for row in out}) == 2
    assert len(set(out[0].tolist())) > 2


def test_building_leaves_the_global_random_state_alone() -> None:
    before = torch.random.get_rng_state()
    make_tiny("qwen2")
    assert torch.equal(before, torch.random.get_rng_state())
