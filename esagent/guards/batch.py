"""Answers that depend on what else is in the batch, so that paired arms differ for no reason of theirs.

Sums in another order differ in their last bits, which decides between tokens that are nearly tied: more is a fault of
the backend, such as padding that is looked at. backend.deterministic=true promises the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from esagent.core.episode import UNPERTURBED
from esagent.guards.finding import Finding
from esagent.guards.subject import Subject

NAME = "batch"
ROUNDING = {"float32": 1e-3}
_COARSE = 0.2
_TOKENS = 4


def batch(subject: Subject) -> Iterator[Finding]:
    """figure: the most that the likelihood of an answer changes with the batch, in nats per token; infinite where a
    greedy text does although the backend promises otherwise."""
    config, probed = subject.config, subject.probed
    if not probed.questions:
        return
    noise, promised = probed.noise, config.backend.deterministic
    other = _texts_differ(subject)
    if promised and (noise or other):
        yield Finding(
            NAME,
            "fault",
            f"backend.deterministic=true, and an answer still depends on the batch (by {noise:.2g} nats per token"
            f"{', its text too' if other else ''})",
            "use a backend that keeps to it (backend=hf), or set backend.deterministic=false",
            noise,
        )
    elif noise > ROUNDING.get(subject.parts.facts.dtype, _COARSE):
        yield Finding(
            NAME,
            "fault",
            f"the likelihood of an answer changes by {noise:.2g} nats per token with what else is in the batch, more "
            "than rounding explains",
            "look for padding or positions that leak between rows, or set backend.deterministic=true",
            noise,
        )
    elif other or (noise and config.study):
        yield Finding(
            NAME,
            "fault" if other and config.study else "note",
            f"greedy answers depend on the batch where tokens are nearly tied (likelihoods by {noise:.2g} nats per "
            "token), so that paired arms may differ for no reason of theirs",
            "set backend.deterministic=true in every arm",
            noise,
        )
    else:
        yield Finding(NAME, "ok", f"the batch changes a likelihood by {noise:.2g} nats per token", "", noise)


def _texts_differ(subject: Subject) -> bool:
    """Whether the first greedy tokens of a question are others alone than beside the rest."""
    requests = [
        replace(q.request, member=UNPERTURBED, temperature=0.0, max_new_tokens=min(_TOKENS, q.request.max_new_tokens))
        for q in subject.probed.questions
    ]
    backend = subject.parts.backend
    together = backend.generate(requests, ())
    (alone,) = backend.generate(requests[-1:], ())
    return together[-1].text != alone.text
