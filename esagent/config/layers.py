"""Which layers `space.layers` names."""

from __future__ import annotations

import re

from esagent.errors import ConfigError

_PART = re.compile(r"(\d+)(?:-(\d+))?")


def parse_layers(text: str, depth: int | None) -> list[int]:
    """Layer numbers from "18-29", "24,27", "last:8", "last:3/5" (a share of the depth) or "all"; sorted, no repeats.

    depth: number of layers of the model; None when it is not known yet: then only the form is checked and the
    returned list is empty. Raises ConfigError on anything else and on layers the model does not have.
    """
    if text == "all":
        return list(range(depth or 0))
    if text.startswith("last:"):
        return _last(text, depth)
    layers: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise ConfigError(f"space.layers={text!r}: expected all, last:N, numbers or ranges such as 18-29,31")
        first = int(match[1])
        last = int(match[2]) if match[2] is not None else first
        if last < first:
            raise ConfigError(f"space.layers={text!r}: {part.strip()!r} runs backwards; write {last}-{first}")
        if depth is not None and last >= depth:
            raise ConfigError(f"space.layers={text!r}: {part.strip()!r} is outside 0-{depth - 1} of this model")
        layers.update(range(first, last + 1) if depth is not None else ())
    return sorted(layers)


def _last(text: str, depth: int | None) -> list[int]:
    top, slash, bottom = text[5:].partition("/")
    digits = top.isdecimal() and (not slash or bottom.isdecimal())
    if digits and int(top) > 0 and (not slash or int(bottom) >= int(top)):
        if depth is None:
            return []
        count = max(1, depth * int(top) // int(bottom)) if slash else int(top)
        if count <= depth:
            return list(range(depth - count, depth))
    limit = f"1 to {depth} layers" if depth is not None else "at least 1 layer"
    raise ConfigError(f"space.layers={text!r}: expected last:N or last:N/M with {limit}")
