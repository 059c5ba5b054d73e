"""Guesses at what comes next, checked in one pass with what is already there. Guesses save time and change nothing.

Two sources, both free: what anybody already answered to the same prompt (a member mostly answers like the centre, and
where it departs, like another member), and the prompt itself, since tool-using agents copy a lot from it (prompt lookup
decoding).

A guessed token that holds would have been computed anyway; what it saves is its row's share in the cost of a further
pass. One that does not hold costs a token. When a pass costs as much as f tokens, beside the tokens in it, and r rows
share it, the i-th guessed token pays as long as a^i f / r > 1 - a^i, that is a^i > r / (r + f), where a is the chance
that a token of this source holds, measured as the run goes. So few rows are guessed for boldly and many hardly.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from esagent.backends.hf.jobs import Job, Tokens
from esagent.backends.hf.slots import is_centre

_KNOWN = 8  # completions remembered per prompt
_LOOKUP = 4  # tokens guessed from the prompt: half of them are right, and a wrong one costs as much as a right one
_PROMPTS = 50_000
_AT_FIRST = {"known": (40, 10), "prompt": (10, 10)}  # tokens that held and that did not, before anything is measured


@dataclass(frozen=True)
class Guess:
    """Tokens that may follow, and where they were found."""

    source: str
    tokens: Tokens


NOTHING = Guess("", ())


class Drafts:
    """Completions by prompt, the centre's first. pass_tokens: as many tokens as a pass costs beside those in it."""

    def __init__(self, enabled: bool, pass_tokens: int) -> None:
        self._enabled = enabled
        self._pass_tokens = pass_tokens
        self._known: dict[Hashable, list[Tokens]] = {}
        self._held = {source: held for source, (held, _) in _AT_FIRST.items()}
        self._failed = {source: failed for source, (_, failed) in _AT_FIRST.items()}

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

    def judge(self, guess: Guess, held: int, failed: bool) -> None:
        """Take note of how many tokens of a guess held before one failed, if one did."""
        if guess.tokens:
            self._held[guess.source] += held
            self._failed[guess.source] += failed

    def guess(self, job: Job, generated: Sequence[int], rows: int) -> Guess:
        """Worth checking when `rows` rows share the pass; never so long that a check could pass the job's token cap."""
        if not self._enabled or not job.greedy:
            return NOTHING
        room = job.max_new - len(generated) - 1
        so_far = tuple(generated)
        for completion in self._known.get(_name(job), ()):
            if len(completion) > len(so_far) and completion[: len(so_far)] == so_far:
                follows = completion[len(so_far) : -1]  # the last token ends it; feeding it would predict nothing
                return Guess("known", follows[: min(room, self._worth("known", rows))])
        length = min(room, self._worth("prompt", rows))
        return Guess("prompt", _lookup(job.prompt + so_far, len(so_far))[:length]) if length > 0 else NOTHING

    def _worth(self, source: str, rows: int) -> int:
        """How many tokens of a guess pay."""
        chance = self._held[source] / (self._held[source] + self._failed[source])
        return int(math.log(rows / (rows + self._pass_tokens)) / math.log(chance))


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
