"""One batched decode for models that mix recurrent layers with attention, by the library's own forward and cache.

A recurrent state holds a whole text in one tensor: rows cannot look at one copy of what they have in common, nor can a
guess that failed be taken back. So every row owns its states, and what is shared is copied: a prompt that many rows
have under the same parameters is read once, and so is a few-shot prefix where that saves more than it costs.

A pass over texts of unequal length is padded on the left. Padding runs under the base model, whose recurrent layers let
nothing of it through. A pass that goes on from a prefix has texts of one length: padding amid a text would make its
states decay.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from esagent.backends.hf.choose import Ending, best, pick
from esagent.backends.hf.jobs import Job, Meter, Outcome, SlotKey, Tokens
from esagent.backends.hf.library import HybridNetwork
from esagent.backends.hf.slots import BASE, NEUTRAL, Hooks
from esagent.backends.hf.states import States, empty, joined, sizes

_COMPACT_BELOW = 0.9  # copying the states of the rows left costs about as much as computing a tenth of them once more

PrefixName = tuple[Tokens, SlotKey]


@dataclass
class Live:
    """Rows in flight: jobs, outcomes and states."""

    jobs: list[Job]
    outcomes: list[Outcome]
    states: States


class HybridEngine:
    """Runs jobs on a network.

    answers_only: the searched parameters act from the last token of the prompt on, and not on the prompt before it.
    max_tokens: of texts in one pass. pass_tokens: as many tokens as a pass costs beside those in it.
    """

    def __init__(
        self,
        network: HybridNetwork,
        hooks: Hooks,
        ending: Ending,
        answers_only: bool,
        meter: Meter,
        max_tokens: int,
        pass_tokens: int,
    ) -> None:
        self._net = network
        self._hooks = hooks
        self._ending = ending
        self._answers_only = answers_only
        self._meter = meter
        self._max_tokens = max_tokens
        self._pass_tokens = pass_tokens
        self._prefixes: dict[PrefixName, tuple[States, int]] = {}
        self._slot_bytes, self._row_bytes = self._measured()

    @property
    def network(self) -> HybridNetwork:
        """The model as it is driven here."""
        return self._net

    @torch.inference_mode()
    def _measured(self) -> tuple[int, int]:
        one = torch.zeros(1, 1, dtype=torch.int64, device=self._net.device)
        states = empty(self._net.config, 1, self._net.device)
        self._net.read(states, one, one == 0)
        return sizes(states)

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Drop the prefixes that these jobs do not ask for."""
        asked = {self._name(job) for job in jobs}
        self._prefixes = {name: found for name, found in self._prefixes.items() if name in asked}

    def forget(self) -> None:
        """The centre moved: drop all prefixes."""
        self._prefixes.clear()

    def fitting(self, jobs: Sequence[Job], room: int) -> int:
        """How many of the next jobs keep no more than `room` bytes, logits included; one at least."""
        memory = tokens = 0
        kept: set[Hashable] = set()
        for count, job in enumerate(jobs):
            owner = (job.prefix, job.prompt, self._slot(job))
            copies = 1 if owner in kept else 2
            memory += copies * (self._row_bytes + job.length * self._slot_bytes)
            memory += self._net.vocabulary * self._net.dtype.itemsize
            kept.add(owner)
            tokens += len(job.answer)  # all in one pass
            if count and (memory > room or tokens > self._max_tokens):
                return count
        return len(jobs)

    def flops(self) -> float:
        """2 per weight and token, padding included."""
        net, meter = self._net, self._meter
        return 2.0 * (net.parameters(0, net.depth) * meter.upper_tokens + net.head_parameters * meter.head_tokens)

    def complete(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run jobs to their end."""
        outcomes = [Outcome([]) for _ in jobs]
        live = Live(list(jobs), list(outcomes), self._start(jobs))
        while live.jobs:
            self.advance(live)
            live = _remaining(live)
        return outcomes

    def _start(self, jobs: Sequence[Job]) -> States:
        """The states of every row before the last token of its prompt; what is the same is read once."""
        owners: dict[Hashable, int] = {}
        heads: list[Job] = []
        owner_of = []
        for job in jobs:
            owner_of.append(owners.setdefault((job.prefix, job.prompt, self._slot(job)), len(owners)))
            if owner_of[-1] == len(heads):
                heads.append(job)
        shared = self._pays(heads)
        if shared:
            self._read_prefixes(heads)
        pasts = [self._prefixes[self._name(head)] if shared and head.prefix else None for head in heads]
        texts = [(() if past else head.prefix) + head.prompt[:-1] for head, past in zip(heads, pasts, strict=True)]
        return self._read(texts, [self._slot(head) for head in heads], pasts, owner_of)

    def _slot(self, job: Job) -> int:
        """Of the parameters that its prompt is read under."""
        return NEUTRAL if self._answers_only else job.slot

    def _name(self, job: Job) -> PrefixName:
        return job.prefix, ("", BASE) if self._answers_only else job.slot_key

    def _pays(self, heads: Sequence[Job]) -> bool:
        """Whether reading each prefix once saves more tokens than the passes it adds, one per length of text."""
        new = {self._name(head) for head in heads if head.prefix} - self._prefixes.keys()
        saved = sum(len(head.prefix) for head in heads) - sum(len(prefix) for prefix, _ in new)
        passes = len({len(head.prompt) for head in heads}) + len({len(prefix) for prefix, _ in new})
        return saved > passes * self._pass_tokens

    def _read_prefixes(self, heads: Sequence[Job]) -> None:
        new = {self._name(head): self._slot(head) for head in heads if head.prefix}
        new = {name: slot for name, slot in new.items() if name not in self._prefixes}
        if new:
            rows = list(range(len(new)))
            states = self._read([prefix for prefix, _ in new], list(new.values()), [None] * len(new), rows)
            self._prefixes.update((name, (states, row)) for row, name in enumerate(new))

    def _read(
        self,
        texts: Sequence[Tokens],
        slots: Sequence[int],
        pasts: Sequence[tuple[States, int] | None],
        rows: Sequence[int],
    ) -> States:
        """Each text under the parameters of its slot, after its past (a row of states) if any. rows: those wanted."""
        parts: list[States] = []
        order: list[int] = []
        for some in self._passes_of(texts, pasts):
            states = self._past([pasts[i] for i in some])
            self._pass([texts[i] for i in some], [slots[i] for i in some], states)
            self._meter.prompt_tokens += sum(len(texts[i]) for i in some)
            parts.append(states)
            order += some
        states = parts[0] if len(parts) == 1 else joined(self._net.config, parts)
        at = {text: place for place, text in enumerate(order)}
        wanted = [at[row] for row in rows]
        return states if wanted == list(range(len(order))) else states.pick(wanted)

    def _passes_of(self, texts: Sequence[Tokens], pasts: Sequence[tuple[States, int] | None]) -> Iterator[list[int]]:
        """Texts pass by pass: those of like length together, and after a past those of one length alone."""
        some: list[int] = []
        for i in sorted(range(len(texts)), key=lambda i: (pasts[i] is not None, len(texts[i]))):
            if some:
                other = (pasts[i] is None) != (pasts[some[0]] is None)
                longer = pasts[i] is not None and len(texts[i]) != len(texts[some[0]])
                if other or longer or (len(some) + 1) * len(texts[i]) > self._max_tokens:
                    yield some
                    some = []
            some.append(i)
        yield some

    def _past(self, pasts: Sequence[tuple[States, int] | None]) -> States:
        """Rows to go on from: copies, so that the past stays what it is."""
        known = [past for past in pasts if past]
        if not known:
            return empty(self._net.config, len(pasts), self._net.device)
        parts = list({id(states): states for states, _ in known}.values())
        first, total = {}, 0
        for part in parts:
            first[id(part)] = total
            total += len(part.mask)
        return joined(self._net.config, parts).pick([first[id(states)] + row for states, row in known])

    def _pass(self, texts: Sequence[Tokens], slots: Sequence[int], states: States) -> None:
        """Read a text more in every row, padded on the left."""
        width = max(len(text) for text in texts)
        if width == 0 and states.mask.shape[1]:
            return
        if width < 2 and not all(texts):
            width = 2  # in a pass of a single token the library looks for no padding
        tokens, real = self._grid([(0,) * (width - len(text)) + text for text in texts], texts, left=True)
        self._feed(states, tokens, real, None if self._answers_only else slots)

    def _grid(self, padded: Sequence[Tokens], texts: Sequence[Tokens], left: bool) -> tuple[Tensor, Tensor]:
        """Tokens [rows, n], and which of them are no padding, that being on one side."""
        device = self._net.device
        tokens = torch.tensor(padded, dtype=torch.int64, device=device)
        count = torch.tensor([len(text) for text in texts], device=device)[:, None]
        place = torch.arange(tokens.shape[1], device=device)
        return tokens, place >= tokens.shape[1] - count if left else place < count

    def _feed(self, states: States, tokens: Tensor, real: Tensor, slots: Sequence[int] | None) -> Tensor:
        """Read tokens [rows, n], each row's under its slot (None: the base model), padding under none."""
        slot = None
        if slots is not None:
            slot = torch.where(real, torch.tensor(slots, device=self._net.device)[:, None], NEUTRAL).flatten()
        with self._hooks.tokens(slot):
            hidden = self._net.read(states, tokens, real)
        self._meter.upper_tokens += tokens.numel()
        return hidden

    def likelihoods(self, jobs: Sequence[Job]) -> list[float]:
        """Mean log-likelihood per token of each job's `answer`, in nats, all rows in one pass.

        Not finite where logits are not. Answers are padded behind their end, where no real token looks.
        """
        feeds = [(job.prompt[-1], *job.answer[:-1]) for job in jobs]
        width = max(len(feed) for feed in feeds)
        tokens, real = self._grid([feed + (0,) * (width - len(feed)) for feed in feeds], feeds, left=False)
        hidden = self._feed(self._start(jobs), tokens, real, [job.slot for job in jobs])[real]
        wanted = torch.tensor([token for job in jobs for token in job.answer], device=hidden.device)
        slots = torch.tensor([job.slot for job in jobs for _ in job.answer], device=hidden.device)
        found = []
        for part, some, slot in zip(*(t.split(self._net.exact_rows) for t in (hidden, wanted, slots)), strict=True):
            with self._hooks.tokens(slot):
                found.append(self._net.log_likelihoods(part, some))
        self._meter.head_tokens += len(hidden)
        parts = torch.cat(found).double().cpu().split([len(job.answer) for job in jobs])
        return [float(part.mean()) for part in parts]

    def advance(self, live: Live) -> None:
        """One pass: every unfinished row gains a token. What comes of a finished row not dropped yet is ignored."""
        newest = [
            (max(out.tokens[-1], 0) if out.tokens else job.prompt[-1],)
            for job, out in zip(live.jobs, live.outcomes, strict=True)
        ]
        slots = [job.slot for job in live.jobs]
        hidden = self._feed(live.states, *self._grid(newest, newest, left=True), slots)[:, -1]
        with self._hooks.tokens(torch.tensor(slots, device=hidden.device)):
            logits = self._net.logits(hidden)
        self._meter.head_tokens += len(hidden)
        chosen = best(logits).tolist() if any(job.greedy for job in live.jobs) else []
        for row, (job, outcome) in enumerate(zip(live.jobs, live.outcomes, strict=True)):
            if not outcome.reason:
                outcome.tokens.append(chosen[row] if job.greedy else pick(job, outcome.tokens, logits[row]))
                self._ending.update(job, outcome)


def _remaining(live: Live) -> Live:
    """Without the finished rows, when enough have finished."""
    going = [row for row, outcome in enumerate(live.outcomes) if not outcome.reason]
    if going and len(going) >= _COMPACT_BELOW * len(live.jobs):
        return live
    jobs, outcomes = [live.jobs[row] for row in going], [live.outcomes[row] for row in going]
    return Live(jobs, outcomes, live.states.pick(going) if going else live.states)
