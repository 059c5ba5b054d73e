"""Plans: the relations of a question in the order in which they must be followed, one step each.

A step cannot be compared with a gold sentence word by word. It is right when it means the hop in its place: it holds
one of the relation's cue words, the name that the question gives for its hop, and neither a name nor a cue that only
another hop has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from esagent.tasks.qa.relations import RELATIONS, Chain
from esagent.tasks.toolbox.plans import tokens
from esagent.tools.search import words

Wanted = Mapping[str, Sequence[str]]
"""Of one hop: `name`, the words of the name it starts from (none but for the first hop), and `cues`."""


def wanted_steps(chain: Chain, start: str) -> list[Wanted]:
    """What the steps of a plan for `chain` from `start` must say."""
    name = words(start)
    return [{"name": name if at == 0 else [], "cues": list(RELATIONS[name_].cues)} for at, name_ in enumerate(chain)]


def right_steps(plan: Sequence[str], wanted: Sequence[Wanted]) -> list[bool]:
    """Which of the plan's first len(wanted) steps mean the hop in their place."""
    out = []
    for at, step in enumerate(plan[: len(wanted)]):
        said, own = set(tokens(step)), wanted[at]
        name = set(own["name"])
        # A name may hold a word that is some relation's cue; it is no cue then.
        free = said - {word for hop in wanted for word in hop["name"]}
        foreign = {word for hop in wanted for word in (*hop["name"], *hop["cues"])} - name - set(own["cues"])
        out.append(name <= said and bool(free & set(own["cues"])) and not said & foreign)
    return out
