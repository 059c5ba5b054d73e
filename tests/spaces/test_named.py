"""The model's own parameters by name: all of them once, and the right ones."""

from __future__ import annotations

import pytest
import torch

from esagent.errors import ConfigError
from esagent.spaces.named import find_parameters, lowest_layer
from tests.helpers.tiny import KINDS, make_tiny


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_the_model_is_found_once(kind: str) -> None:
    model, _ = make_tiny(kind)
    found = find_parameters(model)
    assert [named.name for named in found] == [name for name, _ in model.named_parameters()]
    assert sum(named.tensor.numel() for named in found) == model.num_parameters()
    storages = [named.tensor.data_ptr() for named in found]
    assert len(set(storages)) == len(storages)


def test_a_tied_parameter_answers_to_each_of_its_names() -> None:
    tied, _ = make_tiny("llama")
    (one,) = find_parameters(tied, include=["lm_head"])
    assert one.names == ("model.embed_tokens.weight", "lm_head.weight")
    assert "model.embed_tokens.weight" not in [n.name for n in find_parameters(tied, exclude=["lm_head"])]
    untied, _ = make_tiny("qwen2")
    assert [n.name for n in find_parameters(untied, include=["lm_head"])] == ["lm_head.weight"]


def test_a_tensor_shared_by_two_parameter_objects_is_found_once() -> None:
    model, _ = make_tiny("qwen2")
    model.lm_head.weight = torch.nn.Parameter(model.model.embed_tokens.weight.data, requires_grad=False)
    assert [n.names for n in find_parameters(model, include=["embed"])] == [
        ("model.embed_tokens.weight", "lm_head.weight")
    ]


def test_expressions_choose_and_take_away() -> None:
    model, _ = make_tiny("qwen3")
    found = find_parameters(model, include=[r"layers\.[13]\.", "norm"], exclude=["mlp", r"^model\.norm"])
    names = [named.name for named in found]
    assert "model.layers.1.self_attn.q_proj.weight" in names
    assert "model.layers.0.input_layernorm.weight" in names
    assert "model.layers.0.self_attn.q_proj.weight" not in names
    assert not [name for name in names if "mlp" in name or name == "model.norm.weight"]


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        ([], 0),
        (["embed_tokens"], 0),
        ([r"layers\.2\."], 2),
        ([r"layers\.2\.", r"layers\.1\.mlp"], 1),
        (["lm_head"], 3),
        ([r"^model\.norm", "lm_head"], 3),
        ([r"^model\.norm", r"layers\.2\."], 2),
    ],
)
def test_the_lowest_layer_is_the_first_whose_input_may_change(include: list[str], expected: int) -> None:
    model, _ = make_tiny("qwen2")
    assert lowest_layer(find_parameters(model, include), 4) == expected


def test_a_tied_head_is_the_embedding_and_touches_all_layers() -> None:
    model, _ = make_tiny("llama")
    assert lowest_layer(find_parameters(model, ["lm_head"]), 4) == 0


@pytest.mark.parametrize(
    ("include", "exclude", "says"),
    [
        (["q_prj"], [], r"space\.include='q_prj'.*did you mean q_proj\?"),
        ([], ["embd_tokens"], r"space\.exclude='embd_tokens'.*did you mean embed_tokens\?"),
        (["("], [], r"space\.include='\('.*no regular expression"),
        (["norm"], ["norm"], r"space\.exclude=\[norm\]: leaves no parameter"),
    ],
)
def test_what_matches_nothing_is_one_clear_line(include: list[str], exclude: list[str], says: str) -> None:
    model, _ = make_tiny("llama")
    with pytest.raises(ConfigError, match=says) as caught:
        find_parameters(model, include, exclude)
    assert len(caught.value.problems) == 1
