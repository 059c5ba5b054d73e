"""Guards in tests: small runs that are looked at, and what runs of models that know nothing are set to.

A tiny random model earns next to nothing and is destroyed by nothing, so runs that are about something else than guards
take `UNLEARNED` from here instead of the strict default.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from esagent.agents.modular import ModularAgent
from esagent.assemble import Facts, Parts, combine
from esagent.backends.base import Backend
from esagent.backends.hf.backend import HFBackend
from esagent.config.compose import compose
from esagent.config.schema import Config, Guards, SpaceConfig
from esagent.guards.finding import Finding
from esagent.guards.start import GUARDS
from esagent.guards.subject import Guard, Subject
from esagent.pools import make_pools
from esagent.spaces.base import Space
from esagent.spaces.registry import make_space
from esagent.tasks.registry import make_family
from tests.helpers.tiny import make_tiny
from tests.helpers.vector import vector_config, vector_parts

UNLEARNED = Guards.off


def tiny_config(*overrides: str) -> Config:
    """Toolbox tasks for the modular agent over a tiny model that `tiny_parts` makes."""
    sizes = ["task.pool=4", "task.validation=2", "task.heldout=4", "algorithm.directions=4", "budget.tasks_per_step=2"]
    return compose(["budget=quick", *sizes, "backend.threads=1", *overrides])


def tiny_parts(
    config: Config, dtype: torch.dtype = torch.float32, *, kind: str = "llama", layers: str = "1-3", **space: Any
) -> Parts:
    """The parts of `config` over a tiny model, with the space that it names, changed by `space`."""
    model, tokenizer = make_tiny(kind, dtype=dtype)
    chosen: SpaceConfig = replace(config.space, **({"layers": layers} | space))
    made = make_space(chosen, model, ModularAgent.modules)
    return parts_over(config, model, tokenizer, made)


def parts_over(config: Config, model: Any, tokenizer: Any, space: Space) -> Parts:
    """The parts of `config` with a space of the test's own over `model`."""
    dtype = str(model.dtype).removeprefix("torch.")
    facts = Facts("tiny", dtype, "cpu", 1, config.backend.deterministic)
    return with_backend(config, HFBackend(model, tokenizer, space, config.backend), facts)


def with_backend(config: Config, backend: Backend, facts: Facts) -> Parts:
    """Modular agent and toolbox around `backend`."""
    family = make_family(config.task)
    return combine(config, ModularAgent(), family, make_pools(family, config.task, config.seed), backend, facts)


def vector_subject(backend: Backend | None = None, family: Any = None, **changed: Any) -> Subject:
    """The small world that learns, with a broken backend or family of the test's own."""
    config = replace(vector_config("nowhere"), **changed)
    parts = vector_parts(config)
    if backend is not None:
        parts = replace(parts, backend=backend)
    if family is not None:
        parts = replace(parts, family=family, pools=make_pools(family, config.task, config.seed))
    return Subject(config, parts)


def looked(guard: Guard, subject: Subject) -> list[Finding]:
    """What one guard finds, but for what is sound."""
    return [finding for finding in guard(subject) if finding.level != "ok"]


def everything(subject: Subject) -> dict[str, list[Finding]]:
    """What all guards before a run find, but for what is sound."""
    return {name: found for name, guard in GUARDS.items() if (found := looked(guard, subject))}


def only(findings: list[Finding], level: str = "fault") -> Finding:
    """The one finding there is, which must be of this level, with a cause and a remedy."""
    (found,) = findings
    assert found.level == level
    assert found.cause
    assert found.remedy
    return found
