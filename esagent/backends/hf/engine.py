"""One batched decode for all members and all tasks.

A batch first computes its prompts, then advances all its rows together, pass by pass, until each has ended. In a pass a
row is fed its newest token and a guess at what follows; the part of the guess that its own greedy choice confirms is
kept, with the token behind it. Greedy results are those of token-by-token decoding.

Nothing is computed twice that is the same, nor kept twice. A row looks at its prefix, its prompt and its own answer in
three stores, the first two of which it shares with others. Below the lowest searched layer all members are equal, so
there a batch holds one row per distinct token sequence (a node); above, one row per job. Parameters that act on answers
alone leave the prompt the same for all members as well, through all layers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from esagent.backends.hf.choose import Ending, pick
from esagent.backends.hf.drafts import NOTHING, Drafts, Guess
from esagent.backends.hf.jobs import Job, Meter, Outcome, Tokens
from esagent.backends.hf.network import Network
from esagent.backends.hf.passes import Passes
from esagent.backends.hf.prefixes import Prefixes
from esagent.backends.hf.reading import Reader
from esagent.backends.hf.slots import NEUTRAL
from esagent.backends.hf.store import KVStore, Source

_LOGITS_AT_ONCE = 64  # one row alone costs a third of as many; each takes a vocabulary of memory
_COMPACT_BELOW = 0.9  # copying the answers of the rows left costs about as much as computing a tenth of them once more


@dataclass
class Rows:
    """Rows in some layers: prefix and prompt of each, and its answer so far, an entry of `answers` each."""

    prefixes: list[Source | None]
    prompts: list[Source | None]
    answers: KVStore

    def pick(self, rows: Sequence[int], used: int) -> Rows:
        """Some of the rows, in the given order, of which `used` slots are in use."""
        index = torch.tensor(rows, dtype=torch.int64, device=self.answers.data.device)
        return Rows([self.prefixes[r] for r in rows], [self.prompts[r] for r in rows], self.answers.select(index, used))


@dataclass
class Live:
    """Rows in flight: jobs and outcomes, their upper layers, the trunk of the nodes and each row's node in it."""

    jobs: list[Job]
    outcomes: list[Outcome]
    upper: Rows
    trunk: Rows
    nodes: list[int]

    @property
    def used(self) -> int:
        """Slots of answers in use."""
        return max(len(outcome.tokens) for outcome in self.outcomes)


class PackedEngine:
    """Runs jobs on a network.

    low: the lowest searched layer; 0 turns trunk sharing off.
    answers_only: the searched parameters act from the last token of the prompt on, and not on the prompt before it.
    max_tokens: of prompts in one pass.
    """

    def __init__(
        self,
        network: Network,
        passes: Passes,
        prefixes: Prefixes,
        reader: Reader,
        ending: Ending,
        drafts: Drafts,
        low: int,
        answers_only: bool,
        meter: Meter,
        max_tokens: int,
    ) -> None:
        self._net = network
        self._passes = passes
        self._prefixes = prefixes
        self._reader = reader
        self._ending = ending
        self._drafts = drafts
        self._low = low
        self._answers_only = answers_only
        self._meter = meter
        self._max_tokens = max_tokens

    @property
    def network(self) -> Network:
        """The model as it is driven here."""
        return self._net

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Compute the prefixes of these jobs."""
        self._prefixes.prepare(jobs)

    def forget(self) -> None:
        """The centre moved: drop the prefixes computed under it."""
        self._prefixes.forget()

    def fitting(self, jobs: Sequence[Job], room: int) -> int:
        """How many of the next jobs keep no more than `room` bytes of keys and values; one at least.

        Answers that are scored go through the layers in one pass, and are bounded by what a pass takes too.
        """
        net = self._net
        per_slot = 2 * net.depth * net.kv_heads * net.head_dim * net.dtype.itemsize
        memory = tokens = 0
        kept: set[Hashable] = set()
        for count, job in enumerate(jobs):
            name = (job.prefix, job.prompt, None if self._answers_only else job.slot)
            memory += (job.max_new + 1 + (0 if name in kept else len(job.prompt))) * per_slot
            kept.add(name)
            tokens += len(job.answer)  # all in one pass
            if count and (memory > room or tokens > self._max_tokens):
                return count
        return len(jobs)

    def flops(self) -> float:
        """2 per weight and token."""
        net, meter = self._net, self._meter
        trunk, upper = net.parameters(0, self._low), net.parameters(self._low, net.depth)
        return 2.0 * (trunk * meter.trunk_tokens + upper * meter.upper_tokens + net.head_parameters * meter.head_tokens)

    def complete(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run jobs, whose prefixes are prepared, to their end."""
        live = self.start(jobs)
        outcomes = live.outcomes
        while live.jobs:
            self.advance(live)
            live = _remaining(live)
        return outcomes

    def likelihoods(self, jobs: Sequence[Job]) -> list[float]:
        """Mean log-likelihood per token of each job's `answer`, in nats, all rows in one pass.

        Not finite where logits are not. Prefixes must be prepared.
        """
        states = self._feed(self.start(jobs), [(job.prompt[-1], *job.answer[:-1]) for job in jobs])
        tokens = [token for job in jobs for token in job.answer]
        slots = [job.slot for job in jobs for _ in job.answer]
        found = self._passes.log_likelihoods(states, tokens, slots).double().cpu()
        return [float(part.mean()) for part in found.split([len(job.answer) for job in jobs])]

    def start(self, jobs: Sequence[Job]) -> Live:
        """Compute the prompts of `jobs`, all but their last token."""
        net = self._net
        prompts: dict[Hashable, int] = {}
        nodes = [prompts.setdefault((j.prefix, j.prompt), len(prompts)) for j in jobs]
        heads = [jobs[r] for r in _first(nodes)]
        slots = [NEUTRAL if self._answers_only else job.slot for job in jobs]
        owners: dict[tuple[int, int], int] = {}
        owner_of = [owners.setdefault(pair, len(owners)) for pair in zip(nodes, slots, strict=True)]
        below, above = self._reader.read(heads, list(owners))
        width = max(job.max_new for job in jobs) + 1  # the last token of the prompt comes first
        trunk = Rows(
            [self._prefixes.trunk(job) if self._low else None for job in heads],
            below,
            net.store(0, self._low, len(heads), width),
        )
        upper = Rows(
            [self._prefixes.upper(job, slot) for job, slot in zip(jobs, slots, strict=True)],
            [above[owner] for owner in owner_of],
            net.store(self._low, net.depth, len(jobs), width),
        )
        return Live(list(jobs), [Outcome([]) for _ in jobs], upper, trunk, nodes)

    def advance(self, live: Live) -> None:
        """One pass: every unfinished row gains at least one token."""
        going = sum(not outcome.reason for outcome in live.outcomes)
        guesses = [
            NOTHING if out.reason else self._drafts.guess(job, out.tokens, going)
            for job, out in zip(live.jobs, live.outcomes, strict=True)
        ]
        # A finished row that was not dropped yet is fed as well; what comes of it is ignored.
        feeds = [
            (max(out.tokens[-1], 0) if out.tokens else job.prompt[-1], *guess.tokens)
            for job, out, guess in zip(live.jobs, live.outcomes, guesses, strict=True)
        ]
        states = self._feed(live, feeds)
        slots = [job.slot for job, feed in zip(live.jobs, feeds, strict=True) for _ in feed]
        chosen = self._passes.greedy(states, slots).tolist() if any(job.greedy for job in live.jobs) else []
        picked = iter(self._picked(live, feeds, states))
        at = 0
        for job, outcome, guess in zip(live.jobs, live.outcomes, guesses, strict=True):
            size = 1 + len(guess.tokens)
            if not outcome.reason:
                own = chosen[at : at + size] if job.greedy else [next(picked)]
                self._take(job, outcome, own, guess)
            at += size

    def _feed(self, live: Live, feeds: Sequence[Tokens]) -> Tensor:
        """The next tokens of all rows through all layers: states [T, hidden] of the last one, row after row."""
        net = self._net
        places = [
            len(j.prefix) + len(j.prompt) - 1 + len(o.tokens) for j, o in zip(live.jobs, live.outcomes, strict=True)
        ]
        hidden, token_of = self._trunk_step(live, feeds, places)
        states = self._passes.run(
            hidden.index_select(0, token_of),
            (self._low, net.depth),
            live.upper.answers,
            [live.upper.prefixes, live.upper.prompts],
            places,
            [len(feed) for feed in feeds],
            [job.slot for job in live.jobs],
        )
        self._meter.upper_tokens += len(states)
        self._meter.head_tokens += len(states)
        return states

    def _picked(self, live: Live, feeds: Sequence[Tokens], states: Tensor) -> list[int]:
        """Next tokens of the unfinished rows that are sampled or constrained, in order; many rows' logits at once."""
        places = accumulate((len(feed) for feed in feeds), initial=0)
        rows = [
            (job, outcome, place)
            for job, outcome, place in zip(live.jobs, live.outcomes, places, strict=False)
            if not (outcome.reason or job.greedy)
        ]
        tokens = []
        at_once = 1 if self._net.chunk else _LOGITS_AT_ONCE  # with fixed shapes no row may depend on its neighbours
        for first in range(0, len(rows), at_once):
            part = rows[first : first + at_once]
            logits = self._passes.logits(states[[place for *_, place in part]], [job.slot for job, *_ in part])
            tokens += [pick(job, outcome.tokens, row) for (job, outcome, _), row in zip(part, logits, strict=True)]
        return tokens

    def _trunk_step(self, live: Live, feeds: Sequence[Tokens], places: Sequence[int]) -> tuple[Tensor, Tensor]:
        """States of the nodes' new tokens below the searched layers, and for every token of every row its place there.

        Rows of one node that have parted get nodes of their own first.
        """
        net = self._net
        parts: dict[Hashable, int] = {}
        keys = [(n, tuple(o.tokens), f) for n, o, f in zip(live.nodes, live.outcomes, feeds, strict=True)]
        nodes = [parts.setdefault(key, len(parts)) for key in keys]
        heads = _first(nodes)
        parents = [live.nodes[r] for r in heads]
        if parents != list(range(live.trunk.answers.entries)):
            live.trunk = live.trunk.pick(parents, live.used)
        live.nodes = nodes
        counts = [len(feeds[r]) for r in heads]
        hidden = self._passes.enter([t for r in heads for t in feeds[r]])
        if self._low:
            past = [live.trunk.prefixes, live.trunk.prompts]
            starts = [places[r] for r in heads]
            hidden = self._passes.run(hidden, (0, self._low), live.trunk.answers, past, starts, counts)
            self._meter.trunk_tokens += len(hidden)
        starts = [sum(counts[:i]) for i in range(len(counts))]
        token_of = torch.tensor([starts[n] + i for n, f in zip(nodes, feeds, strict=True) for i in range(len(f))])
        return hidden, token_of.to(net.device)

    def _take(self, job: Job, outcome: Outcome, own: Sequence[int], guess: Guess) -> None:
        """Keep the row's own tokens as far as the guess foresaw them, and one more."""
        held, foreseen = 0, False
        for i, token in enumerate(own):
            outcome.tokens.append(token)
            if self._ending.update(job, outcome):
                self._drafts.learn(job, outcome.tokens)
            foreseen = i < len(guess.tokens) and guess.tokens[i] == token
            held += foreseen
            if outcome.reason or not foreseen:
                break
        self._drafts.judge(guess, held, failed=held < len(guess.tokens) and not foreseen)
        self._meter.drafted += len(guess.tokens)
        self._meter.accepted += held


def _first(groups: Sequence[int]) -> list[int]:
    """Of each group 0, 1, ... the index of its first member."""
    first = dict(zip(reversed(groups), reversed(range(len(groups))), strict=True))
    return [first[group] for group in range(len(first))]


def _remaining(live: Live) -> Live:
    """Without the finished rows, when enough have finished."""
    going = [i for i, outcome in enumerate(live.outcomes) if not outcome.reason]
    if going and len(going) >= _COMPACT_BELOW * len(live.jobs):
        return live
    kept: dict[int, int] = {}
    nodes = [kept.setdefault(live.nodes[i], len(kept)) for i in going]
    return Live(
        [live.jobs[i] for i in going],
        [live.outcomes[i] for i in going],
        live.upper.pick(going, live.used),
        live.trunk.pick(list(kept), live.used),
        nodes,
    )
