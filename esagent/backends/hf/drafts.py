"""Guesses at what comes next, checked in one pass with what is already there. Guesses save time and change nothing.

Two sources, both free: what anybody already answered to the same prompt (a member mostly answers like the centre, and
where it departs, like another member), and the prompt itself, since tool-using agents copy a lot from it (prompt lookup
decoding).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from esagent.backends.hf.jobs import Job, Tokens
from esagent.backends.hf.slots import is_centre

_KNOWN = 8  # completions remembered per prompt
_LOOKUP = 4  # tokens guessed from the prompt: half of them are right, and a wrong one costs as much as a right one
_PROMPTS = 50_000


class Drafts:
    """Completions by prompt, the centre's first."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._known: dict[Hashable, list[Tokens]] = {}

    def learn(self, job: Job, tokens: Sequence[int]) -> None:
        """Remember a finished completion."""
        if not self._enabled or not job.greedy or not tokens or tokens[-1] < 0:
            return
        if len(self._known) >= _PROMPTS:
            self._known.clear()
        known = self._known.setdefault(_name(job), [])
        completion = tuple(tokens)
        if completion in known:
            known.remove(completion)
        known.insert(0 if is_centre(job.slot_key) else min(1, len(known)), completion)
        del known[_KNOWN:]

    def guess(self, job: Job, generated: Sequence[int]) -> Tokens:
        """Tokens that may follow; never so many that a check could pass the job's token cap."""
        if not self._enabled or not job.greedy:
            return ()
        room = job.max_new - len(generated) - 1
        so_far = tuple(generated)
        for completion in self._known.get(_name(job), ()):
            if len(completion) > len(so_far) and completion[: len(so_far)] == so_far:
                return completion[len(so_far) : -1][:room]  # the last token ends it; feeding it would predict nothing
        return _lookup(job.prompt + so_far, len(so_far))[:room]


def _name(job: Job) -> Hashable:
    return job.slot_key[0], job.prefix, job.prompt, job.stop


def _lookup(text: Tokens, generated: int) -> Tokens:
    """What followed the last occurrence of the newest two tokens; one alone foretells too little."""
    if not generated:
        return ()
    tail = text[-2:]
    for at in range(len(text) - 3, -1, -1):
        if text[at : at + 2] == tail:
            return text[at + 2 : at + 2 + _LOOKUP]
    return ()
