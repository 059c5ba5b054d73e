"""Rows of a data set divided into train, validation and heldout, no group of near-duplicates among two of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from esagent.core.noise import key
from esagent.errors import ConfigError
from esagent.tasks.base import Split

_STRENGTH: tuple[Split, ...] = ("train", "validation", "heldout")


def check_shares(shares: Sequence[float]) -> None:
    """Raise ConfigError unless `shares` are the shares of train, validation and heldout."""
    numbers = isinstance(shares, (list, tuple)) and all(type(share) in (int, float) for share in shares)
    if not numbers or len(shares) != 3 or min(shares) < 0 or not math.isclose(sum(shares), 1.0):
        raise ConfigError(f"task.options.shares: three numbers that sum to 1 are needed, not {shares!r}")


def place(name: str, shares: Sequence[float]) -> Split:
    """Where the hash of a row falls among `shares`."""
    at = key("division", name) / 2**64
    return "train" if at < shares[0] else "validation" if at < shares[0] + shares[1] else "heldout"


def divide(
    groups: Sequence[Any], names: Sequence[str], named: Sequence[Split | None], shares: Sequence[float]
) -> list[Split | None]:
    """The split of every row; None for a row that is left out.

    groups: rows of one group stay together. names: what the hash of a row is taken of, equal in every version of the
    data; the smallest of a group decides for all of it. named: the split that a row says it belongs to, if any.

    A group none of whose rows is named goes where its hash falls among `shares`. Otherwise it goes to the strongest
    split named (heldout before validation before train), and its rows named otherwise are left out: what is reported on
    stays whole, and nothing like it is trained on. Where rows are named train and heldout, but none validation, some
    groups of train become validation, in the proportion that `shares` has.
    """
    decides: dict[Any, str] = {}
    claims: dict[Any, Split] = {}
    for group, name, split in zip(groups, names, named, strict=True):
        decides[group] = min(name, decides.get(group, name))
        if split is not None:
            claims[group] = max(split, claims.get(group, split), key=_STRENGTH.index)
    carve = "validation" not in claims.values() and "heldout" in claims.values() and sum(shares[:2]) > 0
    within = (shares[0] / sum(shares[:2]), shares[1] / sum(shares[:2]), 0.0) if carve else (1.0, 0.0, 0.0)
    out: list[Split | None] = []
    for group, split in zip(groups, named, strict=True):
        name, claim = decides[group], claims.get(group)
        if claim is None:
            out.append(place(name, shares))
        elif split not in (None, claim):
            out.append(None)
        else:
            out.append(place(name, within) if claim == "train" else claim)
    return out
