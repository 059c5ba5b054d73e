"""A run in full: what ran, how it went, where its files are. As data, and for a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from esagent.report import spending
from esagent.report.calibration import calibration_table
from esagent.report.evaluation import interval
from esagent.report.guards import guards_table
from esagent.report.results import modules, results
from esagent.report.run import Run
from esagent.report.spending import budget_of, ledger_of
from esagent.report.summary import rewards_table, signals_table
from esagent.report.text import age, duration, number, size, trained_on
from esagent.runs.evals import evals_folder, list_evals, read_eval

_FACTS = ("selected_step", "tokens", "tokens_per_second", "peak_memory_bytes", "decoding")


def overview(run: Run, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Everything `esagent show` tells. settings: those that differ from the defaults; None when that is not known."""
    return {
        "run": str(run.directory.path),
        "name": run.directory.name,
        "id": run.directory.id,
        "state": run.state,
        "detail": run.detail,
        "updates": run.updates,
        "steps": run.steps,
        "started": run.started.isoformat() if run.started else None,
        "seconds": run.seconds,
        "command": run.manifest.get("command"),
        "model": _model(run),
        "objective": run.objective,
        "seed": run.config.get("seed"),
        "versions": run.manifest.get("versions"),
        "git": run.manifest.get("git"),
        "machine": run.manifest.get("machine"),
        "settings": settings,
        "results": results(run),
        "modules": modules(run),
        "budget": budget_of(run),
        "ledger": ledger_of(run),
        "calibration": run.history.calibration or None,
        "guards": _guards(run),
        **{name: run.summary.get(name) for name in _FACTS},
        "evals": [_short(folder) for folder in list_evals(evals_folder(run.directory.path))],
        "files": files(run.directory.path),
        "problems": list(run.problems),
    }


def render(found: Mapping[str, Any], now: datetime | None = None) -> Group:
    """The overview for a terminal; parts that are missing are left out."""
    parts: list[RenderableType] = [_head(found, now or datetime.now(UTC)), Text()]
    if found["settings"] is not None:
        parts += [_settings(found["settings"]), Text()]
    if found["results"]:
        parts.append(rewards_table(found["results"]))
        signals = signals_table(found["results"])
        parts += [Text(), signals] if signals.row_count else []
    if found["calibration"]:
        parts += [Text(), calibration_table(found["calibration"])]
    if found["guards"] and found["guards"]["findings"]:
        parts += [Text(), guards_table(found["guards"]["findings"], f"Guards ({found['guards']['mode']})")]
    if found["modules"]:
        parts += [Text(), _modules(found["modules"])]
    if found["evals"]:
        parts += [Text(), _evals(found["evals"])]
    parts += [Text(), _files(found["files"]), Text("\n".join(["", "Next:", *_next(found)]))]
    return Group(*parts)


def files(path: Path) -> dict[str, dict[str, int]]:
    """Top-level entries of the run with the number of files in each and their bytes."""
    found = {}
    for entry in sorted(path.iterdir()) if path.is_dir() else []:
        inside = [p for p in entry.rglob("*") if p.is_file()] if entry.is_dir() else [entry]
        name = f"{entry.name}/" if entry.is_dir() else entry.name
        if not entry.name.startswith(".") and entry.suffix not in (".lock", ".holder"):
            found[name] = {"files": len(inside), "bytes": sum(p.stat().st_size for p in inside)}
    return found


def _guards(run: Run) -> dict[str, Any] | None:
    """Notes and faults of a finished run, or those of its start; None for a run that none looked at."""
    found = run.summary.get("guards") or run.manifest.get("guards")
    if not found:
        return None
    listed = [finding for finding in found["findings"] if finding["level"] != "ok"]
    return {"mode": found["mode"], "findings": listed}


def _model(run: Run) -> str | None:
    model = run.config.get("model")
    return str(model["name"]) if isinstance(model, dict) and "name" in model else None


def _short(folder: Path) -> dict[str, Any]:
    result = read_eval(folder) or {}
    short = {name: result.get(name) for name in ("split", "state", "n", "k", "temperature", "metrics", "seconds")}
    return {"id": folder.name, "path": str(folder), **short}


def _head(found: Mapping[str, Any], now: datetime) -> Table:
    state = found["state"] + (f" ({found['detail']})" if found["detail"] else "")
    done = f"{found['updates']} of {found['steps'] if found['steps'] is not None else '?'} updates"
    chosen = found.get("selected_step")
    started = datetime.fromisoformat(found["started"]) if found["started"] else None
    when = f"{started:%Y-%m-%d %H:%M} UTC, {age((now - started).total_seconds())} ago" if started else ""
    versions, git = found["versions"] or {}, found["git"] or {}
    memory = found.get("peak_memory_bytes")
    facts = {
        "run": f"{found['name']}/{found['id']}",
        "state": f"{state}, {done}" + (f", state {chosen} chosen" if chosen is not None else ""),
        "started": when,
        "time": duration(found["seconds"]),
        "model": str(found["model"] or ""),
        "trained on": trained_on(found["objective"]),
        "decoding": str(found["decoding"] or ""),
        "seed": "" if found["seed"] is None else str(found["seed"]),
        **spending.facts(found["budget"], found["ledger"]),
        "memory": f"{size(memory)} at most" if memory else "",
        "versions": ", ".join(
            f"{name} {versions[name]}" for name in ("esagent", "python", "torch") if name in versions
        ),
        "commit": f"{git['commit'][:12]}{' with changes' if git.get('dirty') else ''}" if git.get("commit") else "",
        "command": shlex.join(map(str, found["command"])) if found["command"] else "",
        "folder": found["run"],
    }
    return _grid(facts.items())


def _settings(settings: Mapping[str, Any]) -> RenderableType:
    if not settings:
        return Text("Settings: the defaults")
    table = Table(title=Text("Settings that differ from the defaults"), title_justify="left")
    for heading in ("setting", "value", "default"):
        table.add_column(heading, overflow="fold")
    for path, pair in settings.items():
        table.add_row(*map(Text, (path, str(pair["value"]), str(pair["default"]))))
    return table


def _modules(found: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(title=Text("What the search spent on each module"), title_justify="left")
    table.add_column("module")
    for heading in ("directions", "path length", "last sigma", "first mistakes", "last credit"):
        table.add_column(heading, justify="right")
    for name, m in found.items():
        numbers = (number(m["moved"]), number(m["sigma"]), str(m["blamed"]), number(m["credit"]))
        table.add_row(Text(name), str(m["directions"]), *numbers)
    return table


def _evals(evals: list[Mapping[str, Any]]) -> Table:
    table = Table(title=Text("Evaluations (esagent eval)"), title_justify="left")
    table.add_column("id", overflow="fold")
    for heading in ("n", "state", "metric", "base", "trained", "gain"):
        table.add_column(heading, justify="right")
    for found in evals:
        for place, (metric, values) in enumerate((found["metrics"] or {}).items()):
            who = (found["id"], str(found["n"]), str(found["state"])) if place == 0 else ("", "", "")
            cells = [interval(values.get(name), name == "gain") for name in ("base", "trained", "gain")]
            table.add_row(*map(Text, (*who, metric.replace("_", " "), *cells)))
    return table


def _files(found: Mapping[str, Mapping[str, int]]) -> Table:
    return _grid(
        (name, size(entry["bytes"]) + (f" in {entry['files']} files" if name.endswith("/") else ""))
        for name, entry in found.items()
    )


def _next(found: Mapping[str, Any]) -> Iterator[str]:
    run = shlex.quote(str(found["run"]))
    if found["state"] in ("interrupted", "failed"):
        yield f"  esagent resume {run}"
    if "episodes/" in found["files"] and found["files"]["episodes/"]["files"]:
        yield f"  esagent show {run} --episode 0"
    yield f"  esagent show {run} --html"
    if found["updates"]:
        yield f"  esagent eval {run}"


def _grid(rows: Any) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        if value:
            table.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    return table
