"""Tensors that cannot be searched as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from esagent.agents.modular import ModularAgent
from esagent.guards.searched import searched
from esagent.guards.subject import Subject
from esagent.spaces.full import FullSpace
from esagent.spaces.named import find_parameters
from esagent.spaces.partitions import make_partition
from esagent.spaces.registry import make_space
from tests.helpers.guarded import looked, only, parts_over, tiny_config, tiny_parts
from tests.helpers.tiny import make_tiny


def over(*wanted: str, **changed: Any) -> Subject:
    """A run that searches the parameters of a tiny model with these words in their names, and the same `changed`."""
    config = tiny_config("space=full", "sigma.start=0.01")
    model, tokenizer = make_tiny()
    found = [named for named in find_parameters(model) if any(word in named.name for word in wanted)]
    again = [replace(found[0], **changed)] if changed else []
    space = FullSpace([*found, *again], 4, make_partition("whole", 4, True))
    return Subject(config, parts_over(config, model, tokenizer, space))


def test_a_tied_tensor_under_both_of_its_names() -> None:
    """What an embedding and a head share would be perturbed twice."""
    assert looked(searched, over("embed_tokens")) == []
    found = only(looked(searched, over("embed_tokens", names=("lm_head.weight",))))
    assert "lm_head.weight are searched twice" in found.cause


def test_a_packed_layer_that_left_an_empty_weight() -> None:
    packed = {"names": ("model.layers.0.mlp.packed.weight",), "tensor": torch.zeros(0)}
    found = only(looked(searched, over("down_proj", **packed)))
    assert "packed.weight hold no numbers" in found.cause
    assert found.figure == 1.0


def test_a_layer_of_zeros_has_no_scale() -> None:
    """A vector relative to the output of a layer that puts out nothing."""
    config = tiny_config("space=lora")
    model, tokenizer = make_tiny()
    model.model.layers[1].mlp.down_proj.weight.data.zero_()
    space = make_space(replace(config.space, layers="1-2", sites=["down_proj"]), model, ModularAgent.modules)
    found = only(looked(searched, Subject(config, parts_over(config, model, tokenizer, space))))
    assert "have no scale" in found.cause
    assert looked(searched, Subject(config, tiny_parts(config))) == []
