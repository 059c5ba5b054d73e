"""Answers that depend on what else is in the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from esagent.core.episode import Completion, Request
from esagent.core.population import Perturbation
from esagent.guards.batch import batch
from esagent.guards.subject import Subject
from tests.helpers.guarded import looked, only, tiny_config, tiny_parts, vector_subject
from tests.helpers.vector import VectorBackend


class Leaky(VectorBackend):
    """Likelihoods that change by `leak` with every other row, and texts that a second row changes."""

    def __init__(self, leak: float = 0.0, *, texts: bool = False) -> None:
        super().__init__()
        self._leak, self._texts = leak, texts

    def score(self, requests: Sequence[Request], texts: Sequence[str], members: Sequence[Perturbation]) -> list[float]:
        return [found - self._leak * len(requests) for found in super().score(requests, texts, members)]

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        answers = super().generate(requests, members)
        return [replace(a, text=a.text + "!" * (len(requests) > 1)) for a in answers] if self._texts else answers


def test_rows_that_leak_into_each_other() -> None:
    found = only(looked(batch, vector_subject(Leaky(0.01))))
    assert "more than rounding explains" in found.cause
    assert found.figure == pytest.approx(0.02)


@pytest.mark.parametrize("backend", [Leaky(1e-9), Leaky(texts=True)])
def test_a_promise_that_is_not_kept(backend: Leaky) -> None:
    subject = vector_subject(backend)
    promised = replace(subject.config, backend=replace(subject.config.backend, deterministic=True))
    assert "deterministic=true" in only(looked(batch, Subject(promised, subject.parts))).cause


def test_paired_arms_whose_texts_depend_on_the_batch() -> None:
    subject = vector_subject(Leaky(texts=True))
    assert only(looked(batch, subject), "note").remedy == "set backend.deterministic=true in every arm"
    paired = replace(subject.config, study="study.yml")
    assert only(looked(batch, Subject(paired, subject.parts))).remedy == "set backend.deterministic=true in every arm"


def test_a_deterministic_backend_keeps_its_promise() -> None:
    config = tiny_config("backend.deterministic=true", "space=core")
    (found,) = batch(Subject(config, tiny_parts(config)))
    assert (found.level, found.figure) == ("ok", 0.0)
