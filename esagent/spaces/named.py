"""The model's own parameters by their Hugging Face names, chosen by regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from esagent.config.nearest import suggest
from esagent.errors import ConfigError


@dataclass(frozen=True)
class Named:
    """One parameter. names: what it is called, several where it is tied. layer: index in the stack, -1 outside.

    last: nothing but the head or the norm before it, so that no layer comes after it.
    """

    names: tuple[str, ...]
    tensor: Tensor
    layer: int
    last: bool

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]

    @property
    def path(self) -> str:
        """The layer that it is a parameter of."""
        return self.name.rpartition(".")[0]


def find_parameters(model: Any, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> list[Named]:
    """Every floating parameter of `model` in network order, tied ones once.

    include, exclude: regular expressions, found anywhere in one of the names; no `include` means all.
    Raises ConfigError for an expression that cannot be read or matches no parameter, and when none is left.
    """
    found = _all(model)
    chosen = _matching(found, "include", include) if include else found
    dropped = _matching(found, "exclude", exclude)
    kept = [named for named in chosen if named not in dropped]
    if not kept:
        raise ConfigError(f"space.exclude=[{','.join(exclude)}]: leaves no parameter to search")
    return kept


def lowest_layer(found: Iterable[Named], depth: int) -> int:
    """The first layer whose input may depend on the parameters `found`; at most the last layer."""
    return min(depth - 1 if named.last else max(0, named.layer) for named in found)


def _all(model: Any) -> list[Named]:
    names: dict[int, list[str]] = {}
    tensors: dict[int, Tensor] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if parameter.is_floating_point():
            names.setdefault(parameter.data_ptr(), []).append(name)
            tensors.setdefault(parameter.data_ptr(), parameter.detach())
    layers = {p.data_ptr(): i for i, layer in enumerate(model.model.layers) for p in layer.parameters()}
    last = {p.data_ptr() for part in (model.model.norm, model.get_output_embeddings()) for p in part.parameters()}
    last -= {p.data_ptr() for p in model.get_input_embeddings().parameters()}
    return [Named(tuple(names[at]), tensors[at], layers.get(at, -1), at in last) for at in tensors]


def _matching(found: Sequence[Named], setting: str, expressions: Sequence[str]) -> list[Named]:
    matched: set[str] = set()
    for text in expressions:
        try:
            expression = re.compile(text)
        except re.error as error:
            raise ConfigError(f"space.{setting}={text!r}: is no regular expression ({error})") from error
        some = [named.name for named in found if any(expression.search(name) for name in named.names)]
        if not some:
            words = [word for named in found for word in named.path.split(".") if word.isidentifier()]
            near = suggest(text, list(dict.fromkeys(words)))
            raise ConfigError(f"space.{setting}={text!r}: no parameter of this model is called so; {near}")
        matched.update(some)
    return [named for named in found if named.name in matched]
