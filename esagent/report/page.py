"""A run on one self-contained page: no script, nothing fetched, light and dark, legible in black and white."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from jinja2 import TemplateError
from markupsafe import Markup

from esagent.errors import ConfigError
from esagent.report import conversation, figures, spending
from esagent.report.calibration import calibration_rows
from esagent.report.evaluation import interval
from esagent.report.examples import examples
from esagent.report.overview import overview
from esagent.report.run import Run
from esagent.report.templates import page_environment
from esagent.report.text import amount, duration, number, size, trained_on
from esagent.runs.atomic import reporting, write_text

_LABELS = {"pool": "training pool", "validation": "validation", "heldout": "held-out"}
_KINDS = {"gain": "Better", "loss": "Worse", "same": "Still wrong"}


def write_page(run: Run, settings: Mapping[str, Any] | None, path: Path) -> Path:
    """Write the page of `run` to `path` and return it. settings: see `overview`.

    Raises ConfigError for a path that names no file, EnvironmentFailure when the disk does not take it.
    """
    return write_text_page(path, lambda: render_page(run, settings))


def write_text_page(path: Path, render: Callable[[], str]) -> Path:
    """Write what `render` gives to `path` and return it. Raises ConfigError for a path that names no file (before
    anything is rendered), EnvironmentFailure when the disk does not take it."""
    if not path.name:
        raise ConfigError(f"{path}: is a folder; name the file to write, as in page.html")
    text = render()
    if _is_stream(path):
        with reporting("write", path):
            path.write_text(text, encoding="utf-8")
    else:
        write_text(path, text)
    return path


def _is_stream(path: Path) -> bool:
    """A pipe or a device, /dev/stdout say, which is written to, and not replaced as a file is."""
    try:
        mode = path.stat().st_mode
    except OSError:  # mostly nothing is there yet; what else is wrong is told by who writes
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def render_page(run: Run, settings: Mapping[str, Any] | None) -> str:
    """The page as HTML text; sections for which a run has no data are left out.

    Raises ValueError, KeyError or TypeError for a run whose files hold what no run writes.
    """
    filters = {
        "number": number,
        "signed": lambda value: number(value, signed=True),
        "amount": amount,
        "duration": duration,
        "bytes": size,
        "interval": interval,
        "trained_on": trained_on,
        "calibration_rows": calibration_rows,
        "signed_interval": lambda value: interval(value, signed=True),
    }
    environment = page_environment(filters)
    environment.globals |= {
        "modules_of": conversation.modules,
        "first_mistake": conversation.first_mistake,
        "outcome_text": conversation.outcome_text,
        "note": conversation.completion_note,
        "call_text": conversation.call_text,
    }
    found = overview(run, settings)
    content = {
        "run": found,
        "spending": spending.facts(found["budget"], found["ledger"]),
        "label": run.label,
        "labels": _LABELS,
        "kinds": _KINDS,
        "style": Markup((Path(__file__).parent / "page.css").read_text()),
        "curve": Markup(figures.learning_curve(run)),
        "modules_figure": Markup(figures.module_figure(run)),
        "examples": examples(run),
        "config": yaml.safe_dump(run.config, sort_keys=False, allow_unicode=True) if run.config else "",
        "manifest": json.dumps(run.manifest, indent=2, ensure_ascii=False) if run.manifest else "",
    }
    try:
        return environment.get_template("page.html.j2").render(content)
    except TemplateError as error:
        raise ValueError(str(error)) from error
