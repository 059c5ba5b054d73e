"""Format `hf`: an ordinary model folder with the change folded into the weights, for agents of a single module.

Where the model's own weights were searched they are what the folder holds, in the format they were evaluated in, and
all modules share them. Otherwise
W' = W + B R A for a core; for a vector the layer's bias becomes b' = b + v. Layers without a bias get one where the
architecture has a setting for it (Llama's `mlp_bias` and `attention_bias`), 0 wherever nothing was trained.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch

from esagent.errors import ConfigError
from esagent.runs.export.trained import Trained

_SETTINGS = ("mlp_bias", "attention_bias")


def refuse(trained_on_answers: bool, modules: Sequence[str]) -> None:
    """Raise ConfigError where one set of weights cannot be the agent."""
    others = "use --format hooks" if trained_on_answers else "use --format peft"
    if len(modules) > 1:
        raise ConfigError(
            f"--format hf: {', '.join(modules)} have weights of their own, and a model folder holds one set; {others}"
        )
    if trained_on_answers:
        raise ConfigError(
            "--format hf: with space.positions=answer the trained numbers act from the last token of the prompt on, "
            f"and folded into the weights they would act on every token; {others}"
        )


@torch.no_grad()
def write(trained: Trained, folder: Path) -> None:
    """The model in fp32, so that nothing is rounded away, and its tokenizer. Raises ConfigError for a missing bias."""
    trained.tokenizer.save_pretrained(folder)
    if trained.moved:
        trained.model.cpu().save_pretrained(folder)
        return
    (adapter,) = trained.adapters.values()
    model = _with_biases(trained.model.float().cpu(), adapter.biases)
    for site, (down, up) in adapter.low_rank.items():
        model.get_submodule(site).weight += up @ down
    for site, bias in adapter.biases.items():
        model.get_submodule(site).bias += bias
    model.save_pretrained(folder)


def _with_biases(model: Any, sites: Collection[str]) -> Any:
    """`model`, or one of the same weights whose layers at `sites` have a bias."""
    config = model.config
    for name in _SETTINGS:
        if getattr(config, name, None) is False:
            other = copy.deepcopy(config)
            setattr(other, name, True)
            if len(_lacking(model, other, sites)) < len(_lacking(model, config, sites)):
                config = other
    lacking = _lacking(model, config, sites)
    if lacking:
        raise ConfigError(
            f"--format hf: {lacking[0]} of {type(model).__name__} takes no bias to fold the trained vector into; "
            "use --format peft"
        )
    if config is model.config:
        return model
    wider = type(model)(config)
    for name in wider.load_state_dict(model.state_dict(), strict=False).missing_keys:
        wider.get_parameter(name).zero_()
    wider.generation_config = model.generation_config
    return wider


def _lacking(model: Any, config: Any, sites: Collection[str]) -> list[str]:
    """The layers of `sites` that have no bias in a model of this kind with these settings."""
    with torch.device("meta"):
        outline = type(model)(config)
    return [site for site in sites if outline.get_submodule(site).bias is None]
