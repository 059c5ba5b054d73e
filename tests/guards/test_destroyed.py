"""Members whose outputs are destroyed, and members that are left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from esagent.guards.destroyed import LOST, destroyed
from esagent.guards.subject import Subject
from tests.helpers.guarded import looked, only, tiny_config, tiny_parts, vector_subject


def test_a_sigma_that_destroys_the_outputs() -> None:
    made = vector_subject()
    assert looked(destroyed, made) == []
    wild = replace(
        made.parts, scales=replace(made.parts.scales, factors=dict.fromkeys(made.parts.scales.factors, 50.0))
    )
    found = only(looked(destroyed, Subject(made.config, wild)))
    assert found.figure is not None
    assert found.figure > LOST
    assert "sigma" in found.remedy


def test_the_default_sigma_of_another_space_on_whole_weights() -> None:
    config = tiny_config("space=full", "sigma.start=3")
    assert only(looked(destroyed, Subject(config, tiny_parts(config, layers="all")))).level == "fault"


def test_a_model_that_is_broken_from_the_start() -> None:
    config = tiny_config()
    parts = tiny_parts(config)
    with torch.no_grad():
        parts.backend.space.sites[0].module.weight.fill_(float("nan"))  # type: ignore[attr-defined]
        parts.backend._network.model.model.norm.weight.fill_(float("nan"))  # type: ignore[attr-defined]
    found = only(looked(destroyed, Subject(config, parts)))
    assert "before anything was perturbed" in found.cause
    assert found.to_dict()["figure"] is None


@pytest.mark.parametrize("space", ["bias", "core"])
def test_small_perturbations_leave_outputs_whole(space: str) -> None:
    config = tiny_config(f"space={space}", "sigma.start=0.05")
    (found,) = destroyed(Subject(config, tiny_parts(config)))
    assert found.level == "ok"
    assert np.isfinite(found.figure)
