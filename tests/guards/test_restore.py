"""Members that leave a trace: restored by subtraction, in the model and in a backend of plain vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from esagent.config.schema import Guards
from esagent.core.episode import Completion, Request
from esagent.core.noise import gaussian
from esagent.core.population import Perturbation
from esagent.errors import InvalidRun
from esagent.guards.restore import restore, strayed
from esagent.guards.subject import Subject
from esagent.runs.journal import read_journal
from esagent.spaces.weights import Weights
from esagent.train import train
from tests.helpers.guarded import looked, only, tiny_config, tiny_parts, vector_subject
from tests.helpers.vector import VectorBackend, vector_config, vector_parts


class Subtracting(Weights):
    """Adds a member's noise to what stands in the model, and later subtracts it again, in the model's own format."""

    def show(self, perturbation: Perturbation | None = None) -> None:
        for member, sign in ((self._shown, -1.0), (perturbation, 1.0)):
            if member is not None:
                for tensor in self.tensors:
                    weight = sign * self._weight(tensor, member, 0, tensor.size)
                    flat = self.standing(tensor)
                    flat.add_((weight * self.form.draw(member.seed, tensor, 0, tensor.size)).to(flat.dtype))
                    self._tell(flat)
        self._shown = perturbation


@pytest.mark.parametrize(("dtype", "least"), [(torch.bfloat16, 0.01), (torch.float32, 0.01)])
def test_weights_restored_by_subtraction(dtype: torch.dtype, least: float) -> None:
    config = tiny_config("space=full", "sigma.start=0.01")
    parts = tiny_parts(config, dtype, layers="all")
    assert looked(restore, Subject(config, parts)) == []
    parts.backend.space.parameters.__class__ = Subtracting  # type: ignore[attr-defined]
    found = only(looked(restore, Subject(config, parts)))
    assert found.figure is not None
    assert found.figure >= least
    assert strayed(parts.backend) > 0


class Drifting(VectorBackend):
    """Perturbs its vectors in place and subtracts. generates: only where texts are asked for."""

    def __init__(self, *, generates: bool = False) -> None:
        super().__init__()
        self._generates = generates
        self.centre = {name: torch.full_like(theta, 1e-3) for name, theta in self.centre.items()}

    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        answers = super().generate(requests, members)
        self._cycle(members)
        return answers

    def score(self, requests: Sequence[Request], texts: Sequence[str], members: Sequence[Perturbation]) -> list[float]:
        found = super().score(requests, texts, members)
        if not self._generates:
            self._cycle(members)
        return found

    def _cycle(self, members: Sequence[Perturbation]) -> None:
        for member in members:
            for name, sigma in member.sigma.items():
                noise = sigma * gaussian(member.seed, name, 0, self.centre[name].numel())
                self.centre[name] = self.centre[name] + noise - noise


def test_vectors_restored_by_subtraction() -> None:
    assert looked(restore, vector_subject()) == []
    assert only(looked(restore, vector_subject(Drifting()))).guard == "restore"


def test_a_drift_that_shows_in_the_run_alone(tmp_path: Path) -> None:
    """Before the run nothing drifts; the first population does it, and the update is never made."""
    config = vector_config(tmp_path, steps=2)

    def build(config):  # type: ignore[no-untyped-def]
        return replace(vector_parts(config), backend=Drifting(generates=True))

    with pytest.raises(InvalidRun, match="guard restore \\(step 0\\)"):
        train(config, build=build)
    (run,) = (tmp_path / "vector").iterdir()
    assert read_journal(run / "journal.jsonl") == []
    summary = train(replace(config, guards=Guards.warn, name="warned"), build=build)
    assert summary["steps"] == 2
    assert [(f["guard"], f["step"]) for f in summary["guards"]["findings"]] == [("restore", 0)]
