"""Did-you-mean: the nearest valid choice to what was written."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def suggest(given: str, choices: Sequence[str]) -> str:
    """`did you mean x? choose from x, y, z`, or without the first half when nothing is near."""
    near = difflib.get_close_matches(given, choices, n=1, cutoff=0.5)
    listed = f"choose from {', '.join(choices)}"
    return f"did you mean {near[0]}? {listed}" if near else listed


def suggest_path(given: str, paths: Sequence[str]) -> str:
    """The nearest of many dotted paths: one that ends alike, then one that reads alike; else the top-level names."""
    leaf = given.rpartition(".")[2]
    same = [path for path in paths if path.rpartition(".")[2] == leaf]
    near = same or difflib.get_close_matches(given, paths, n=1, cutoff=0.6)
    if not near:
        leaves = {path.rpartition(".")[2]: path for path in paths}
        near = [leaves[match] for match in difflib.get_close_matches(leaf, list(leaves), n=1, cutoff=0.6)]
    if near:
        return f"did you mean {near[0]}?"
    return f"the groups are {', '.join(dict.fromkeys(path.partition('.')[0] for path in paths))}"
