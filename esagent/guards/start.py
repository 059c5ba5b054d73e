"""The guards before a run, in order: what is cheap first, then what asks the model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from esagent.assemble import Parts
from esagent.config.schema import Config, Guards
from esagent.guards import (
    batch,
    budgets,
    destroyed,
    effect,
    harness,
    leakage,
    power,
    resolution,
    restore,
    rounding,
    schedule,
    searched,
)
from esagent.guards.finding import Finding, enforce
from esagent.guards.subject import Guard, Subject

GUARDS: Mapping[str, Guard] = {
    leakage.NAME: leakage.leakage,
    power.NAME: power.power,
    budgets.NAME: budgets.budgets,
    schedule.NAME: schedule.schedule,
    harness.NAME: harness.harness,
    searched.NAME: searched.searched,
    resolution.NAME: resolution.resolution,
    rounding.NAME: rounding.rounding,
    effect.NAME: effect.effect,
    destroyed.NAME: destroyed.destroyed,
    batch.NAME: batch.batch,
    restore.NAME: restore.restore,
}


def inspect(config: Config, parts: Parts) -> list[Finding]:
    """Everything that the guards find before a run of `config`, whatever its mode; `parts` stay in their state.

    sigma=auto: what depends on sigma is seen after the calibration, which tries members itself (`effect.calibrated`).
    """
    subject = Subject(config, parts)
    return [finding for guard in GUARDS.values() for finding in guard(subject)]


def guarded_start(config: Config, parts: Parts) -> dict[str, Any] | None:
    """Inspect and enforce; what the manifest keeps of it, None with guards=off.

    Raises InvalidRun, before anything is written, for a fault under guards=strict.
    """
    if config.guards is Guards.off:
        return None
    began = time.monotonic()
    findings = inspect(config, parts)
    enforce(findings, config.guards)
    return {
        "mode": config.guards.value,
        "seconds": time.monotonic() - began,
        "findings": [finding.to_dict() for finding in findings],
    }
