"""What a run gained, per split and per module; of an unfinished run as far as it has come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from esagent.config.names import MODULES, SPLITS
from esagent.report.rows import Evaluation
from esagent.report.run import Run


def results(run: Run) -> dict[str, dict[str, Any]]:
    """Per split: n, base, trained, gain, gain_interval, signals; of a finished run from its summary.

    Otherwise the newest evaluated state is compared with the base, paired per task; `state` says which it is. A split
    that only the base was evaluated on has `n` and `base` alone.
    """
    found: dict[str, dict[str, Any]] = {}
    for split in SPLITS:
        evaluations = run.history.evaluations.get(split, [])
        if run.summary:
            found |= {split: dict(run.summary[split])} if isinstance(run.summary.get(split), dict) else {}
        elif evaluations and evaluations[0].step == 0:
            found[split] = _compare(evaluations[0], evaluations[-1])
    for part in found.values():
        signals = part.get("signals") or {}
        part["signals"] = {name: signals[name] for name in in_order(run, signals)}
    return found


def in_order(run: Run, names: Iterable[str]) -> list[str]:
    """Names of modules in the order in which an episode reaches them, where the agent is one that ships."""
    agent = run.config.get("agent")
    known = MODULES.get(str(agent.get("name")), ()) if isinstance(agent, dict) and not agent.get("target") else ()
    return sorted(names, key=lambda name: known.index(name) if name in known else len(known))


def _compare(base: Evaluation, trained: Evaluation) -> dict[str, Any]:
    if trained.step == 0:
        return {"n": len(base.rewards), "base": base.mean, "signals": {m: {"base": v} for m, v in base.signals.items()}}
    from esagent.stats.intervals import paired_gain  # imports scipy, which listing runs has no use for

    before, after = (
        dict(zip(base.tasks, base.rewards, strict=False)),
        dict(zip(trained.tasks, trained.rewards, strict=False)),
    )
    tasks = [task for task in before if task in after]
    gain: dict[str, Any] = {}
    if tasks:
        mean, low, high = paired_gain([before[t] for t in tasks], [after[t] for t in tasks], tasks)
        gain = {"gain": mean, "gain_interval": [low, high]}
    modules = dict.fromkeys([*base.signals, *trained.signals])
    return {
        "n": len(tasks),
        "base": base.mean,
        "trained": trained.mean,
        "state": trained.step,
        **gain,
        "signals": {m: {"base": base.signals.get(m), "trained": trained.signals.get(m)} for m in modules},
    }


def modules(run: Run) -> dict[str, dict[str, Any]]:
    """Per searched block: directions spent, length of all steps in units of its scale, last sigma and credit."""
    rows = run.history.rows
    names = in_order(run, dict.fromkeys(name for row in rows for name in row.get("directions") or {}))
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        found[name] = {
            "directions": sum(int((row.get("directions") or {}).get(name) or 0) for row in rows),
            "moved": sum(float((row.get("moved") or {}).get(name) or 0.0) for row in rows),
            "sigma": (rows[-1].get("sigma") or {}).get(name),
            "credit": (rows[-1].get("credit") or {}).get(name),
            "blamed": sum(int((row.get("blamed") or {}).get(name) or 0) for row in rows),
        }
    return found
