"""A state of a run together with the base model it belongs to: what every export format starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from esagent.agents.base import Agent
from esagent.config.names import WEIGHT_SPACES
from esagent.config.schema import DType, Positions, PromptStyle
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.models.registry import ResolvedModel, place
from esagent.runs.states import State


@dataclass(frozen=True)
class Adapter:
    """What one module adds to the outputs of linear layers, by their paths; fp32, on the CPU.

    low_rank: (down [r, in], up [out, r]), adding up @ down to the weight. biases: [out].
    """

    low_rank: dict[str, tuple[Tensor, Tensor]]
    biases: dict[str, Tensor]


@dataclass(frozen=True)
class Trained:
    """base, agent, style: as in the run. model: the base, unchanged, unless its own weights were searched (`moved`).

    adapters: by module, those that were searched; empty where the model itself moved.
    digest: the backend's at this state.
    """

    state: State
    base: ResolvedModel
    agent: Agent
    style: PromptStyle
    model: Any
    tokenizer: Any
    adapters: dict[str, Adapter]
    digest: str

    @property
    def moved(self) -> bool:
        """Whether the search was over the model's own weights: `model` is what came of it."""
        return self.state.config.space.name in WEIGHT_SPACES

    @property
    def trained_modules(self) -> tuple[str, ...]:
        """The modules that the search touched."""
        return self.agent.modules if self.moved else tuple(self.adapters)

    @property
    def answers_only(self) -> bool:
        """Whether the adapters act from the last token of the prompt on alone."""
        return self.state.config.space.positions is Positions.answer

    @property
    def source(self) -> str:
        """Where the base model can be loaded from: a hub id, or a folder on this machine."""
        kind, where = place(self.state.config.model)
        return where if kind == "hub" else str(self.base.folder)


def load_trained(state: State) -> Trained:
    """Load the base model in the run's number format and put its search space into `state`.

    Raises ConfigError for a base model with other weights than the run had, or a state that cannot be rebuilt;
    EnvironmentFailure when the model is missing.
    """
    from esagent.agents.registry import make_agent
    from esagent.models.chat import style
    from esagent.models.loading import load, load_tokenizer, pick_device, pick_dtype
    from esagent.models.registry import resolve
    from esagent.spaces.base import AdapterSpace
    from esagent.spaces.registry import make_space

    config = state.config
    base = resolve(config.model)
    if state.manifest.get("model_hash") != base.hash:
        raise ConfigError(f"{state.run.path} was trained on other weights than those that lie in {base.folder} now")
    prompt_style = style(config.model, load_tokenizer(base.folder))
    agent = make_agent(config.agent, prompt_style)
    try:
        device = pick_device(config.backend.device)
    except EnvironmentFailure:  # a run of another machine; its snapshots can be read anywhere
        device = torch.device("cpu")
    known = {kind.value: kind for kind in DType}
    dtype = pick_dtype(known.get(str(state.manifest.get("dtype")), config.model.dtype), device)
    model, tokenizer = load(base, dtype, device)
    space = make_space(config.space, model, agent.modules)
    digest = state.bring(space.parameters)
    adapters = {}
    if isinstance(space, AdapterSpace):
        for module in dict.fromkeys(tensor.owner for tensor in space.parameters.tensors):
            values = space.parameters.values(module)
            adapters[module] = Adapter(space.low_rank(values), space.dense(values)[1])
    return Trained(state, base, agent, prompt_style, model, tokenizer, adapters, digest)
