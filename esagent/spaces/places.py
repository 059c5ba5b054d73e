"""What the noise of a parameter adds to the output of its layer, token by token: linear, embedding, bias, norm.

A table holds the noise of a parameter by slot: of a matrix W [out, in] the factors of W_s - W = up_s down_s^T, as
(up [S, out, r], down [S, in, r]); of a vector (change [S, n],).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from esagent.errors import ConfigError
from esagent.spaces.base import Term
from esagent.spaces.batched import per_token

Table = tuple[Tensor, ...]
Way = Callable[[Table], Term]


def way_of(module: Any, kind: str, name: str) -> Way:
    """How the parameter `kind` of `module` acts. Raises ConfigError, naming it, where that is not known."""
    if isinstance(module, nn.Linear):
        return _linear if kind == "weight" else _vector
    if isinstance(module, nn.Embedding):
        return _embedding
    if kind == "weight" and type(module).__name__.endswith("RMSNorm"):
        return _norm(module.variance_epsilon if hasattr(module, "variance_epsilon") else module.eps)
    last = r"\.".join(name.split(".")[-2:])
    raise ConfigError(
        f"space=lowrank: no batch can hold {name} of a {type(module).__name__} for several members; leave it out with "
        f"space.exclude=[{last}$], or choose space=full"
    )


def together(terms: Sequence[Term]) -> Term:
    """The sum of several terms of one layer."""
    if len(terms) == 1:
        return terms[0]

    def term(x: Tensor, slot: Tensor) -> Tensor:
        total = terms[0](x, slot)
        for other in terms[1:]:
            total = total + other(x, slot)
        return total

    return term


def _linear(table: Table) -> Term:
    up, down = table
    across = down.transpose(1, 2)

    def term(x: Tensor, slot: Tensor) -> Tensor:
        return per_token(up, slot, per_token(across, slot, x))

    return term


def _embedding(table: Table) -> Term:
    up, down = table

    def term(ids: Tensor, slot: Tensor) -> Tensor:
        return per_token(down, slot, up[slot, ids])

    return term


def _vector(table: Table) -> Term:
    (change,) = table

    def term(_: Tensor, slot: Tensor) -> Tensor:
        return change[slot]

    return term


def _norm(epsilon: float) -> Way:
    def way(table: Table) -> Term:
        (change,) = table

        def term(x: Tensor, slot: Tensor) -> Tensor:
            inverse = x.float().square().mean(-1, keepdim=True).add_(epsilon).rsqrt_()
            return x.mul(inverse.to(x.dtype)).mul_(change[slot])

        return term

    return way
