"""The tool uses of an episode, whichever agent made them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from esagent.core.episode import ToolCall, ToolResult, Turn


@dataclass(frozen=True)
class Hop:
    """One tool use as the agent made it. `chosen`: the tool that was selected."""

    chosen: str
    call: ToolCall | None = None
    result: ToolResult | None = None


def find_hops(turns: Sequence[Turn], tools: Collection[str], drop_corrected: bool) -> list[Hop]:
    """Tool uses in order: each selector turn begins one, and the next caller turn belongs to it.

    drop_corrected: a failed call with another one behind it is not held against the agent.
    """
    hops: list[Hop] = []
    waiting = False
    for turn in turns:
        name = turn.call.name if turn.call else ""
        if turn.module == "selector":
            hops.append(Hop(named(turn.completion.text, tools) or name, turn.call, turn.result))
            waiting = turn.call is None
        elif turn.call is not None:
            if waiting:
                hops[-1] = Hop(hops[-1].chosen or name, turn.call, turn.result)
            else:
                hops.append(Hop(name, turn.call, turn.result))
            waiting = False
    if drop_corrected:
        hops = [hop for hop in hops[:-1] if hop.result is not None and hop.result.ok] + hops[-1:]
    return hops


def named(text: str, tools: Collection[str]) -> str:
    """The tool that the first word of a selector's text names, in any case; "" for none."""
    words = text.casefold().split()
    first = words[0].strip("\"'`.,:;()*") if words else ""
    return next((name for name in tools if name.casefold() == first), "")
