"""What is said between the driver and a worker, as bytes: so what is sent is what is counted.

Every message has two parts. `control` holds perturbations, numbers, updates and digests; `texts` holds prompts and
completions. A worker is told a perturbation once per state of the search, and what requests have in common (few-shot
text, stop strings, tools) once in its life; after that both go by number. Weights are in no message.

Both parts are pickled and compressed. Pickles are code to whoever reads them: a cluster is a trusted place, as it is to
Ray itself.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import zstandard

from esagent.core.episode import UNPERTURBED, Completion, Cost, Message, Request
from esagent.core.population import Perturbation

Reason = Literal["stop", "length", "nonfinite", "context"]
_REASONS: tuple[Reason, ...] = get_args(Reason)


@dataclass(frozen=True)
class Parcel:
    """A message: bytes of `control`, and of `texts`, which are empty where nothing is asked or answered in words."""

    control: bytes
    texts: bytes = b""


def pack(value: Any) -> bytes:
    """`value` as bytes. A compressor is made for each call, for they are not to be shared by threads."""
    return zstandard.ZstdCompressor(level=3).compress(pickle.dumps(value, protocol=5))


def unpack(data: bytes) -> Any:
    """Undo `pack`."""
    return pickle.loads(zstandard.ZstdDecompressor().decompress(data))


def perturbation_key(perturbation: Perturbation) -> Hashable:
    """What tells two perturbations apart; they hold a mapping, and so cannot be hashed themselves."""
    return perturbation.seed, perturbation.sign, perturbation.partition, tuple(sorted(perturbation.sigma.items()))


def form_key(request: Request) -> Hashable:
    """What tells requests apart but for their member, prompt, messages and key of sampling."""
    tools = repr(request.tools) if request.tools else ""
    kept = request.module, request.prefix, request.max_new_tokens, request.stop, request.choices, request.temperature
    return *kept, tools


class Sender:
    """The driver's memory of what one worker was told."""

    def __init__(self) -> None:
        self._forms: dict[Hashable, int] = {}
        self._members: dict[Hashable, int] = {}

    def forget_members(self) -> None:
        """The search is in another state: perturbations start anew."""
        self._members = {}

    def ask(
        self, requests: Sequence[Request], members: Sequence[Perturbation], answers: Sequence[str] | None
    ) -> Parcel:
        """`requests` of `members`, and the answers to be scored, if any."""
        forms: list[Request] = []
        told: list[Perturbation] = []
        prompts: dict[tuple[str, tuple[Message, ...]], int] = {}
        columns = array("i"), array("i"), array("i")
        numbers = {UNPERTURBED: UNPERTURBED}
        for request in requests:
            key = form_key(request)
            if key not in self._forms:
                self._forms[key] = len(self._forms)
                forms.append(replace(request, prompt="", messages=(), member=UNPERTURBED, seed=0))
            if request.member not in numbers:
                numbers[request.member] = self._member(members[request.member], told)
            text = request.prompt, request.messages
            columns[0].append(self._forms[key])
            columns[1].append(numbers[request.member])
            columns[2].append(prompts.setdefault(text, len(prompts)))
        seeds = array("Q", [request.seed for request in requests]) if any(r.seed for r in requests) else None
        control = told, *(column.tobytes() for column in columns), seeds and seeds.tobytes()
        return Parcel(pack(control), pack((forms, list(prompts), answers)))

    def _member(self, perturbation: Perturbation, told: list[Perturbation]) -> int:
        key = perturbation_key(perturbation)
        if key not in self._members:
            self._members[key] = len(self._members)
            told.append(perturbation)
        return self._members[key]


class Receiver:
    """A worker's memory of the same."""

    def __init__(self) -> None:
        self._forms: list[Request] = []
        self._members: list[Perturbation] = []

    def forget_members(self) -> None:
        """As `Sender.forget_members`."""
        self._members = []

    def asked(self, parcel: Parcel) -> tuple[list[Request], list[Perturbation], list[str] | None]:
        """What `Sender.ask` was given; `Request.member` indexes the perturbations that are returned."""
        told, *columns, seeds = unpack(parcel.control)
        forms, prompts, answers = unpack(parcel.texts)
        self._forms += forms
        self._members += told
        keys = _column("Q", seeds) if seeds else array("Q", bytes(8 * (len(columns[0]) // 4)))
        requests = []
        for form, member, prompt, seed in zip(*(_column("i", data) for data in columns), keys, strict=True):
            text, messages = prompts[prompt]
            request = replace(self._forms[form], prompt=text, messages=messages, member=member, seed=seed)
            requests.append(request)
        return requests, self._members, answers


def pack_completions(completions: Sequence[Completion], cost: Cost, seconds: float) -> Parcel:
    """seconds: that the worker was at work."""
    control = (
        bytes(_REASONS.index(completion.stop_reason) for completion in completions),
        array("i", [completion.prompt_tokens for completion in completions]).tobytes(),
        array("i", [completion.completion_tokens for completion in completions]).tobytes(),
        bytes(completion.shared for completion in completions),
        cost,
        seconds,
    )
    notes = {number: c.note for number, c in enumerate(completions) if c.note}
    return Parcel(pack(control), pack(([completion.text for completion in completions], notes)))


def unpack_completions(parcel: Parcel) -> tuple[list[Completion], Cost, float]:
    """Undo `pack_completions`."""
    reasons, prompts, answers, shared, cost, seconds = unpack(parcel.control)
    texts, notes = unpack(parcel.texts)
    rows = zip(texts, reasons, _column("i", prompts), _column("i", answers), shared, strict=True)
    completions = [
        Completion(text, _REASONS[reason], prompt, answer, bool(again), notes.get(number, ""))
        for number, (text, reason, prompt, answer, again) in enumerate(rows)
    ]
    return completions, cost, seconds


def pack_scores(scores: Sequence[float], cost: Cost, seconds: float) -> Parcel:
    """Log-likelihoods are numbers: they have no texts."""
    return Parcel(pack((array("d", scores).tobytes(), cost, seconds)))


def unpack_scores(parcel: Parcel) -> tuple[list[float], Cost, float]:
    """Undo `pack_scores`."""
    scores, cost, seconds = unpack(parcel.control)
    return list(_column("d", scores)), cost, seconds


def _column(kind: str, data: bytes) -> array[Any]:
    column: array[Any] = array(kind)
    column.frombytes(data)
    return column
