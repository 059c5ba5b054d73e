"""The guards during a run. What they find follows from the journal, so a resumed run finds the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from esagent.assemble import Parts
from esagent.config.schema import Config, Guards
from esagent.guards.effect import calibrated
from esagent.guards.finding import Finding, enforce, merged
from esagent.guards.harness import scored_failures
from esagent.guards.restore import drifted, still
from esagent.guards.rounding import swallowed
from esagent.guards.spread import spread

Records = Sequence[Mapping[str, Any]]


class Watch:
    """Watches a run of `config` that began from the digest `start`. Everything raises InvalidRun under strict.

    typed: the run's folder as a shell takes it.
    """

    def __init__(self, config: Config, parts: Parts, start: str, typed: str) -> None:
        self._config, self._parts, self._start = config, parts, start
        self._advice = f"esagent resume {typed} --fork guards=warn goes on all the same"
        self._kept: Mapping[str, Any] = {"found": ()}
        self._told: set[tuple[str, str]] = set()

    def calibration(self, kept: Mapping[str, Any] | None) -> None:
        """After a calibration, before the first step. kept: what it found, None where there was none."""
        if kept is not None and self._looks:
            self._kept = kept
            self._enforce(calibrated(kept["found"]))

    def before_update(self, records: Records) -> bool | None:
        """After the members of the next step, before it moves the centre: is that still where `records` left it?

        Goes into the step's record. None where nobody looks.
        """
        if not self._looks:
            return None
        found = list(still(self._parts.backend, self._digest(records, len(records)), len(records)))
        self._enforce(found)
        return not found

    def after_step(self, records: Records) -> None:
        """After the record of the newest step was written."""
        if self._looks:
            self._enforce(self._found(records, len(records)))

    def summary(self, records: Records, start: Mapping[str, Any] | None) -> dict[str, Any]:
        """For the summary: the mode, and all that is no ok. start: what the manifest keeps of the guards."""
        if not self._looks:
            return {"mode": Guards.off.value, "findings": []}
        found = list(calibrated(self._kept["found"]))
        found += [finding for n in range(1, len(records) + 1) for finding in self._found(records, n)]
        before = [finding for finding in (start or {}).get("findings", []) if finding["level"] != "ok"]
        listed = [*before, *(finding.to_dict() for finding in merged(found))]
        return {"mode": self._config.guards.value, "findings": listed}

    @property
    def _looks(self) -> bool:
        return self._config.guards is not Guards.off

    def _found(self, records: Records, upto: int) -> Iterator[Finding]:
        """Of the last of the first `upto` records."""
        record = records[upto - 1]
        episodes = len(record["rewards"]) * len(record["tasks"])
        if record.get("restored") is False:  # a journal of an earlier version lacks it
            yield drifted(int(record["step"]))
        yield from spread(self._config, records, upto)
        yield from swallowed(self._config, self._parts, record, self._digest(records, upto - 1))
        yield from scored_failures(record, episodes)

    def _digest(self, records: Records, upto: int) -> str:
        """Of the state after the first `upto` records."""
        return str(records[upto - 1]["digest"]) if upto else self._start

    def _enforce(self, findings: Iterable[Finding]) -> None:
        """Each is told once."""
        new = [f for f in findings if (f.guard, f.level) not in self._told]
        self._told |= {(f.guard, f.level) for f in new}
        enforce(new, self._config.guards, self._advice)
