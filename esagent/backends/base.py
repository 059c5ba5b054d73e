"""The seam of a backend: where tokens come from and where the weights live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from esagent.core.episode import Completion, Cost, Request
from esagent.core.population import Block, Perturbation, Update


@dataclass(frozen=True)
class Applied:
    """What became of an update: how well the weights followed the intent, and their checksum afterwards.

    cosine: cos(applied, intended), 1.0 when nothing was lost to rounding (nan for a zero update).
    unmoved: share of the searched numbers that the update meant to move and did not.
    moved: RMS length of the step per block, in units of the block's scale.
    """

    digest: str
    cosine: float
    unmoved: float
    moved: dict[str, float]


class Backend(Protocol):
    """Holds the base weights and the searched parameters; answers requests for perturbed members in one batch.

    together: how many members it answers for at once at no extra cost, None for any number. More are answered too, but
    where members have to be made one after the other, whoever asks round by round makes each of them once a round.
    """

    together: int | None

    def blocks(self) -> tuple[Block, ...]:
        """The searched blocks, in a fixed order."""
        ...

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        """Answer all requests, in order. `request.member` indexes `members`; UNPERTURBED is the current centre.

        Nothing is computed beyond the model's context: see `Completion.stop_reason`.
        """
        ...

    def score(self, requests: Sequence[Request], texts: Sequence[str], members: Sequence[Perturbation]) -> list[float]:
        """Mean log-likelihood per token, in nats, of texts[i] as the answer to requests[i], teacher-forced; in order.

        A text's end counts as a token: the first stop string of the request unless the text holds one, the end of the
        text where the request has none, nothing behind a choice. Not finite where logits are not. Raises RunError for
        one with an `overflow`.
        """
        ...

    def overflow(self, request: Request, text: str) -> str:
        """Why `request` with `text` for an answer is longer than the model's context, in words; "" where it fits."""
        ...

    def apply(self, update: Update) -> Applied:
        """Move the centre. Deterministic: replaying the same updates from the same start gives the same digest."""
        ...

    def digest(self) -> str:
        """Checksum of the searched parameters and optimiser state at this moment."""
        ...

    def save(self, path: Path) -> None:
        """Write the searched parameters and optimiser state as safetensors to `path` (not atomic; the caller is)."""
        ...

    def load(self, path: Path) -> None:
        """Read what `save` wrote. Raises RunError naming what does not fit."""
        ...

    def displacement(self, start: Path) -> dict[str, float]:
        """RMS distance of the searched parameters per block from those that `save` wrote to `start`, in units of the
        block's scale; empty where blocks are drawn anew every step. Raises RunError naming what does not fit."""
        ...

    def forget_optimiser(self) -> None:
        """Keep the searched parameters and start the optimiser anew."""
        ...

    def cost(self) -> Cost:
        """Everything generated since the backend was made."""
        ...


@runtime_checkable
class Distributed(Protocol):
    """A backend that is several processes.

    facts: what its numbers depend on where they are computed: `device`, `dtype`, `threads`, and versions.
    """

    facts: dict[str, Any]

    def mark(self) -> None:
        """Begin to count messages anew."""
        ...

    def report(self) -> dict[str, Any]:
        """Messages since `mark` in bytes, and what became of workers since the last report; plain data."""
        ...

    def kept(self, path: Path) -> None:
        """The present state is also in the file `path`, from which later workers may start."""
        ...
