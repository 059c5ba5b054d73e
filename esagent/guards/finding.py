"""What a guard finds, and what becomes of it: told, or the end of the run."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from esagent.config.schema import Guards
from esagent.errors import InvalidRun

_log = logging.getLogger(__name__)

Level = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """What one guard has to say.

    level: ok (measured and sound), note (told, and never in the way), fault (the run would say nothing, or something
    else than it seems to). cause, remedy: in words; ok needs no remedy. figure: what was measured, None where a guard
    counts nothing. step: of the run, None before the first one.
    """

    guard: str
    level: Level
    cause: str
    remedy: str = ""
    figure: float | None = None
    step: int | None = None

    @property
    def line(self) -> str:
        """One line for people."""
        where = "" if self.step is None else f" (step {self.step})"
        return f"guard {self.guard}{where}: {self.cause}" + (f"; {self.remedy}" if self.remedy else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a figure that is not finite is None."""
        data = asdict(self)
        if self.figure is not None and not math.isfinite(self.figure):
            data["figure"] = None
        return data


def enforce(findings: Iterable[Finding], mode: Guards, advice: str = "guards=warn goes on all the same") -> None:
    """Tell notes and faults as warnings. Raises InvalidRun, one line a fault and `advice`, under strict."""
    findings = list(findings)
    faults = [finding for finding in findings if finding.level == "fault"]
    strict = mode is Guards.strict
    for finding in findings:
        if finding.level == "note" or (finding.level == "fault" and not strict):
            _log.warning("%s", finding.line)
    if faults and strict:
        raise InvalidRun(*(finding.line for finding in faults), advice=advice)


def merged(findings: Sequence[Finding]) -> list[Finding]:
    """Of the notes of a guard the first, and of its faults; ok findings are left out."""
    kept: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        if finding.level != "ok":
            kept.setdefault((finding.guard, finding.level), finding)
    return list(kept.values())
