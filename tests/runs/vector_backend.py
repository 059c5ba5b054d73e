"""A small backend of plain vectors: real parameters, real noise, real momentum, no language model."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from esagent.backends.base import Applied
from esagent.core.noise import direction_seed, gaussian, uniform
from esagent.core.population import Update, UpdateTerm

SIZES = {"planner": 300, "caller": 200}


class VectorBackend:
    """One float32 vector and one velocity per block, both starting at 0."""

    def __init__(self) -> None:
        self.theta = {name: torch.zeros(size) for name, size in SIZES.items()}
        self.velocity = {name: torch.zeros(size) for name, size in SIZES.items()}

    def apply(self, update: Update) -> Applied:
        moved = {}
        for name, size in SIZES.items():
            estimate = torch.zeros(size)
            for term in update.terms:
                estimate += term.coefficient.get(name, 0.0) * gaussian(term.seed, name, 0, size)
            decay = update.scalars.get("momentum", 0.0) if update.rule == "momentum" else 0.0
            self.velocity[name] = decay * self.velocity[name] + estimate
            step = update.step_size.get(name, 0.0) * self.velocity[name]
            self.theta[name] = self.theta[name] + step
            moved[name] = math.sqrt(float(step.square().mean()))
        return Applied(self.digest(), 1.0, 0.0, moved)

    def digest(self) -> str:
        found = hashlib.sha256()
        for name in SIZES:
            found.update(self.theta[name].numpy().tobytes() + self.velocity[name].numpy().tobytes())
        return found.hexdigest()[:16]

    def save(self, path: Path) -> None:
        tensors = {f"theta.{name}": tensor for name, tensor in self.theta.items()}
        save_file(tensors | {f"velocity.{name}": tensor for name, tensor in self.velocity.items()}, path)

    def load(self, path: Path) -> None:
        tensors = load_file(path)
        self.theta = {name: tensors[f"theta.{name}"] for name in SIZES}
        self.velocity = {name: tensors[f"velocity.{name}"] for name in SIZES}


def update_of(step: int) -> Update:
    """A deterministic update with odd coefficients."""
    terms = []
    for direction in range(3):
        seed = direction_seed(7, step, direction)
        planner, caller = uniform(seed, 2) - 0.5
        terms.append(UpdateTerm(seed, {"planner": float(planner), "caller": float(caller)}))
    return Update(step, tuple(terms), {"planner": 0.1, "caller": 0.3}, "momentum", scalars={"momentum": 0.9})
