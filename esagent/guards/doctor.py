"""`esagent doctor`: the environment, every guard before a run, and, for a sweep, whether its arms can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from esagent.assemble import Parts, assemble
from esagent.config.schema import Config
from esagent.errors import ConfigError, EsagentError
from esagent.guards import budgets
from esagent.guards.environment import environment
from esagent.guards.finding import Finding
from esagent.guards.start import GUARDS
from esagent.guards.subject import Subject


@dataclass(frozen=True)
class Diagnosis:
    """machine: of the environment. run: by guard, in order; a guard that had nothing to look at has no finding."""

    machine: list[Finding]
    run: dict[str, list[Finding]]

    @property
    def findings(self) -> list[Finding]:
        """All of them."""
        return [*self.machine, *(finding for found in self.run.values() for finding in found)]

    @property
    def faults(self) -> list[Finding]:
        """Those that strict guards do not let pass."""
        return [finding for finding in self.findings if finding.level == "fault"]


def diagnose(jobs: Sequence[Config], build: Callable[[Config], Parts] = assemble) -> Diagnosis:
    """Look at the first of `jobs` in full, and at their budgets together.

    A part that is missing or fails on this machine becomes a fault, and the guards that need it have nothing to say.
    Raises ConfigError for settings that no run could have.
    """
    config = jobs[0]
    found = {"budgets": list(budgets.unequal(jobs))} if len(jobs) > 1 else {}
    try:
        subject = Subject(config, build(config))
    except ConfigError:
        raise
    except EsagentError as error:
        found["parts"] = [Finding("parts", "fault", str(error), "bring up what is missing")]
        return Diagnosis(list(environment(config)), found)
    machine = list(environment(config))  # after the model is loaded: its threads and memory are those of a run
    for name, guard in GUARDS.items():
        found.setdefault(name, []).extend(_looked(name, guard(subject)))
    return Diagnosis(machine, found)


def _looked(name: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    try:
        yield from findings
    except EsagentError as error:
        yield Finding(name, "fault", f"cannot be looked at: {error}", "see what the error names")
