"""Typed errors. The command line turns each into one line on stderr and its exit code."""

from __future__ import annotations


class EsagentError(Exception):
    """A failure with a message meant for the user. `exit_code` is what the process returns."""

    exit_code = 1


class RunError(EsagentError):
    """A run that started could not go on (exit 1)."""

    exit_code = 1


class ConfigError(EsagentError):
    """Bad usage or configuration (exit 2). Carries every problem found, not only the first."""

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class EnvironmentFailure(EsagentError):
    """Something outside the configuration is missing: a model, a library, a device (exit 3)."""

    exit_code = 3


class InvalidRun(EsagentError):
    """A guard found that a run would be invalid (exit 3). Carries every fault found, then what to do about them all."""

    exit_code = 3

    def __init__(self, *problems: str, advice: str = "") -> None:
        self.problems = (*problems, advice) if advice else problems
        super().__init__("; ".join(self.problems))


class Preempted(EsagentError):
    """The scheduler asked the run to stop; the same command goes on later (exit 75)."""

    exit_code = 75


class Interrupted(EsagentError):
    """The user pressed Ctrl-C; the run was saved at a step boundary (exit 130)."""

    exit_code = 130
