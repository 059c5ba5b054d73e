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


def find_sites(model: nn.Module, layers: str, names: Sequence[str]) -> list[Site]:
    """The linear layers called `names` (last part of their path) in the given layers, in network order."""
    stack = list(model.model.layers)  # type: ignore[union-attr, arg-type]
    wanted = parse_layers(layers, len(stack))
    known = sorted({n.rpartition(".")[2] for n, m in stack[0].named_modules() if isinstance(m, nn.Linear)})
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1) or known
            raise ConfigError(f"space.sites: no linear layer {name!r} in this model; nearest: {', '.join(near)}")
    return [
        Site(f"model.layers.{index}.{path}", index, module)
        for index in wanted
        for path, module in stack[index].named_modules()
        if isinstance(module, nn.Linear) and path.rpartition(".")[2] in names
    ]
