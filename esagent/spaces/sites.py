"""Which linear layers of a model a space touches."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from esagent.errors import ConfigError

_PARTS = re.compile(r"^(\d+)(?:-(\d+))?$")


@dataclass(frozen=True)
class Site:
    """One linear layer: `path` as in the state dict, without `.weight`."""

    path: str
    layer: int
    module: nn.Linear


def parse_layers(text: str, depth: int) -> list[int]:
    """Layer numbers from "18-29", "24,27", "last:8", "last:3/5" (a share of the depth) or "all"; sorted, without
    repeats. Raises ConfigError on anything else and on layers the model does not have."""
    if text == "all":
        return list(range(depth))
    if text.startswith("last:"):
        top, _, bottom = text[5:].partition("/")
        if top.isdigit() and (not bottom or bottom.isdigit()) and int(bottom or 1) > 0:
            count = max(1, depth * int(top) // int(bottom)) if bottom else int(top)
            if 1 <= count <= depth:
                return list(range(depth - count, depth))
        raise ConfigError(f"space.layers={text!r}: expected last:N or last:N/M with 1 to {depth} layers")
    layers: set[int] = set()
    for part in text.split(","):
        match = _PARTS.match(part.strip())
        if match is None:
            raise ConfigError(f"space.layers={text!r}: expected all, last:N, numbers or ranges such as 18-29,31")
        first = int(match[1])
        last = int(match[2]) if match[2] is not None else first
        if last < first or last >= depth:
            raise ConfigError(f"space.layers={text!r}: {part.strip()!r} is outside 0-{depth - 1} of this model")
        layers.update(range(first, last + 1))
    return sorted(layers)


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
