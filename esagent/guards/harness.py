"""Failures of the harness that are scored: a judge that is down, a sandbox that died, a time-out, each as reward 0.

Members are then compared by the luck of the harness. A scorer has to raise, which drops the task for all members; one
that swallows its own failures shows in that right answers earn what nothing earns, and in the reasons it gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from esagent.core.episode import Episode, Score, Task, Trajectory
from esagent.errors import ConfigError, EsagentError
from esagent.guards.finding import Finding
from esagent.guards.subject import Subject
from esagent.rollout import MAX_UNSCORED
from esagent.stopping import Told
from esagent.tasks.base import TaskFamily

NAME = "harness"
TASKS = 3
MANY = 0.5
"""Share of a step's episodes with such a reason that makes a fault; above `MAX_UNSCORED` it is a note."""

_SIGNS = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b|\bTraceback\b|\btimed?[ -]?out\b|\bconnection (?:refused|reset|lost)\b"
    r"|\bunreachable\b|\bbroken pipe\b|\bno such file\b|\bservice unavailable\b|\brate limit"
)
"""What programs say when they fail, and graders of answers do not."""


def harness(subject: Subject) -> Iterator[Finding]:
    """Before a run. figure: share of the tried tasks whose gold episode is not scored as one.

    A scorer that raises does what it should, so that is a fault only where it does nothing else.
    """
    family, tasks = subject.parts.family, subject.parts.pools.pool[:TASKS]
    wrong: list[str] = []
    failed: list[str] = []
    for task in tasks:
        try:
            problem = _problem(family, task)
        except ConfigError:  # a family without gold episodes
            continue
        except (EsagentError, Told):
            raise
        except Exception as error:
            failed.append(f"{task.id}: {type(error).__name__}: {' '.join(str(error).split())[:120]}")
            continue
        if problem:
            wrong.append(f"{task.id}: {problem}")
    if wrong:
        yield Finding(
            NAME,
            "fault",
            f"the gold episode of {len(wrong)} of {len(tasks)} tasks is not scored as one ({wrong[0]})",
            _REMEDY,
            len(wrong) / len(tasks),
        )
    elif failed:
        yield Finding(
            NAME,
            "fault" if len(failed) == len(tasks) else "note",
            f"the scorer fails on {len(failed)} of {len(tasks)} tasks ({failed[0]})",
            _REMEDY,
            len(failed) / len(tasks),
        )
    else:
        yield Finding(NAME, "ok", f"gold episodes of {len(tasks)} tasks are scored as such", "", 0.0)


def scored_failures(record: Mapping[str, Any], episodes: int) -> Iterator[Finding]:
    """During a run, from the journal's record of a step of so many episodes. figure: share of them."""
    share = record.get("suspect", 0) / max(1, episodes)  # a journal of an earlier version lacks it
    if share > MAX_UNSCORED:
        yield Finding(
            NAME,
            "fault" if share >= MANY else "note",
            f"{share:.0%} of the episodes have a score, and a reason that reads as a failure of the harness "
            f"({record['suspect_reason']})",
            "let the scorer raise when it fails itself: such a task is then dropped for all members",
            share,
            int(record["step"]),
        )


def suspects(episodes: Sequence[Episode]) -> list[str]:
    """The reasons of scored episodes without a reward that read as a failure of the harness."""
    scores = (episode.score for episode in episodes)
    return [s.reason for s in scores if not s.unscored and s.reward <= 0 and _SIGNS.search(s.reason)]


_REMEDY = "bring up what the scorer needs (judge, sandbox, files); let it raise when it fails, and never return 0"


def _problem(family: TaskFamily, task: Task) -> str:
    """What is wrong with the score of a task's gold episode; "" for nothing, and where the family has none."""
    if not callable(getattr(family, "gold", None)):
        return ""
    gold = family.gold(task)
    first, again = family.score(task, gold), family.score(task, gold)
    nothing = family.score(task, Trajectory((), ""))
    if first.unscored or again.unscored:
        return f"it is unscored ({first.reason or again.reason})"
    if first.reward != again.reward:
        return f"scored twice it earns {first.reward:g} and {again.reward:g}"
    return _too_low(first, nothing)


def _too_low(gold: Score, nothing: Score) -> str:
    if gold.reward <= nothing.reward:
        return f"it earns {gold.reward:g}, no more than no answer at all ({gold.reason or 'no reason given'})"
    return ""
