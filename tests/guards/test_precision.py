"""Numbers too small for the format they are kept in: perturbations, and updates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from esagent.allocation.base import Evidence
from esagent.backends.base import Applied
from esagent.config.schema import Config
from esagent.core.population import Update
from esagent.errors import InvalidRun
from esagent.guards.finding import Finding
from esagent.guards.resolution import resolution
from esagent.guards.rounding import rounding, swallowed
from esagent.guards.subject import Subject
from esagent.runs.codec import encode_update
from esagent.runs.journal import read_journal
from esagent.spaces.tensors import SearchTensor
from esagent.spaces.weights import Weights
from esagent.train import train
from tests.helpers.guarded import looked, only, tiny_config, tiny_parts
from tests.helpers.vector import VectorBackend, vector_config, vector_parts

FULL = ("space=full", "algorithm=es_at_scale", "algorithm.directions=4")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_perturbation_below_the_resolution(dtype: torch.dtype) -> None:
    """Gaps around weights of 0.1 are 5e-4 in bfloat16 and 7e-9 in float32."""
    small, large = {torch.bfloat16: (1e-5, 1e-2), torch.float32: (1e-10, 1e-3)}[dtype]
    config = tiny_config(*FULL, f"sigma.start={small}")
    found = only(looked(resolution, Subject(config, tiny_parts(config, dtype, layers="all"))))
    assert found.figure is not None
    assert found.figure < 0.7
    config = tiny_config(*FULL, f"sigma.start={large}")
    assert looked(resolution, Subject(config, tiny_parts(config, dtype, layers="all"))) == []


def test_a_perturbation_that_falls_below_it() -> None:
    config = tiny_config(*FULL, "sigma=exponential", "sigma.start=0.01", "sigma.end=1e-5")
    parts = tiny_parts(config, torch.bfloat16, layers="all")
    assert "smallest sigma" in only(looked(resolution, Subject(config, parts))).cause


def test_stochastic_rounding_keeps_it_on_average() -> None:
    config = tiny_config(*FULL, "sigma.start=1e-4", "space.precision=stochastic")
    parts = tiny_parts(config, torch.bfloat16, layers="all")
    assert all(finding.level == "note" for finding in looked(resolution, Subject(config, parts)))


@pytest.mark.parametrize(
    ("dtype", "precision", "step"), [(torch.float32, "master", 1e-11), (torch.bfloat16, "stochastic", 1e-10)]
)
def test_a_step_that_no_number_can_take(dtype: torch.dtype, precision: str, step: float) -> None:
    config = tiny_config(*FULL, f"algorithm.step.start={step}", f"space.precision={precision}")
    found = only(looked(rounding, Subject(config, tiny_parts(config, dtype, layers="all"))))
    assert found.figure is not None
    assert found.figure > 0.5


@pytest.mark.parametrize("precision", ["master", "stochastic"])
def test_steps_of_the_paper_are_kept(precision: str) -> None:
    config = tiny_config(*FULL, f"space.precision={precision}")
    assert looked(rounding, Subject(config, tiny_parts(config, torch.bfloat16, layers="all"))) == []


class Nearest(Weights):
    """Adds the update to bfloat16 numbers, with no master and rounding to nearest."""

    def _move(self, tensor: SearchTensor, start: int, step: Tensor) -> Tensor:
        end = start + len(step)
        place, flat = self.centre[tensor.name][start:end], self.standing(tensor)[start:end]
        before = place.double()
        place.copy_((before + step).to(place.dtype))
        flat.copy_(place)
        return place.double() - before


def one_step(config: Config, broken: type[Weights] | None = None) -> list[Finding]:
    """What is found after one real update of a bfloat16 model, from rewards that differ.

    broken: weights without a master in place of those that the configuration asks for.
    """
    parts = tiny_parts(config, torch.bfloat16, layers="all", **({"precision": "stochastic"} if broken else {}))
    if broken:
        parts.backend.space.parameters.__class__ = broken  # type: ignore[attr-defined]
    sigma, alpha = parts.scales.at(0, 4)
    allocation = parts.allocator.allocate(
        step=0, blocks=parts.backend.blocks(), directions=4, sigma=sigma, evidence=Evidence()
    )
    population = parts.strategy.ask(0, allocation)
    rewards = np.linspace(0.0, 1.0, 2 * len(population.members)).reshape(len(population.members), 2)
    update = parts.strategy.tell(population, rewards, step_size=allocation.scaled(alpha))
    before = parts.backend.digest()
    return list(swallowed(config, parts, record(update, parts.backend.apply(update)), before))


def record(update: Update, applied: Applied) -> dict[str, Any]:
    return {"step": 0, "update": encode_update(update), **vars(applied)}


def test_an_update_added_to_bfloat16_numbers() -> None:
    config = tiny_config(*FULL, "algorithm.step.start=1e-4")
    found = only(one_step(config, Nearest))
    assert found.figure is not None
    assert found.figure < 0.8
    assert "did not move" in found.cause


@pytest.mark.parametrize("precision", ["master", "stochastic"])
def test_what_does_not_show_in_the_model_is_kept(precision: str) -> None:
    assert one_step(tiny_config(*FULL, "algorithm.step.start=1e-4", f"space.precision={precision}")) == []


class Coarse(VectorBackend):
    """Keeps its vectors in bfloat16, around 1."""

    def __init__(self) -> None:
        super().__init__()
        self.centre = {name: torch.ones_like(theta) for name, theta in self.centre.items()}

    def apply(self, update: Update) -> Applied:
        before = {name: theta.clone() for name, theta in self.centre.items()}
        self._updates -= 1  # no part of what is searched
        applied = super().apply(update)
        meant = torch.cat([self.centre[name] - theta for name, theta in before.items()])
        self.centre = {name: theta.bfloat16().float() for name, theta in self.centre.items()}
        moved = torch.cat([self.centre[name] - theta for name, theta in before.items()])
        cosine = float(torch.nn.functional.cosine_similarity(meant, moved, dim=0)) if moved.any() else float("nan")
        return replace(applied, digest=self.digest(), cosine=cosine, unmoved=float((moved == 0).double().mean()))


def test_a_run_whose_updates_move_nothing_ends(tmp_path: Path) -> None:
    config = vector_config(tmp_path, steps=4)
    config.algorithm = replace(config.algorithm, step=replace(config.algorithm.step, start=1e-3, end=1e-3))

    def build(config: Config):  # type: ignore[no-untyped-def]
        return replace(vector_parts(config), backend=Coarse())

    with pytest.raises(InvalidRun, match=r"guard rounding \(step 0\).*moved nothing") as caught:
        train(config, build=build)
    assert caught.value.exit_code == 3
    (run,) = (tmp_path / "vector").iterdir()
    assert len(read_journal(run / "journal.jsonl")) == 1
