"""Which linear layers of a model a space touches."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from esagent.config.layers import parse_layers
from esagent.errors import ConfigError


@dataclass(frozen=True)
class Site:
    """One layer that terms are added to, mostly a linear one: `path` as in the state dict, without `.weight`."""

    path: str
    layer: int
    module: Any

    @property
    def kind(self) -> str:
        """The last part of its path, as in `down_proj`."""
        return self.path.rpartition(".")[2]


def find_sites(model: nn.Module, layers: str, names: Sequence[str]) -> list[Site]:
    """The linear layers called `names` (last part of their path) in the given layers, in network order.

    Layers may differ, as in a stack that mixes attention with recurrence: one that has no layer of a name is passed
    over. Raises ConfigError for a name that none of the given layers has.
    """
    stack = list(model.model.layers)  # type: ignore[union-attr, arg-type]
    wanted = parse_layers(layers, len(stack))
    found = [
        Site(f"model.layers.{index}.{path}", index, module)
        for index, layer in enumerate(stack)
        for path, module in layer.named_modules()
        if isinstance(module, nn.Linear)
    ]
    for name in names:
        having = [site.layer for site in found if site.kind == name]
        if not having:
            known = sorted({site.kind for site in found})
            near = difflib.get_close_matches(name, known, 1) or known
            raise ConfigError(f"space.sites: no linear layer {name!r} in this model; nearest: {', '.join(near)}")
        if not set(having) & set(wanted):
            listed = ",".join(map(str, dict.fromkeys(having)))
            raise ConfigError(
                f"space.sites: {name!r} is in none of the layers {layers}; in this model they are {listed}"
            )
    return [site for site in found if site.layer in wanted and site.kind in names]
