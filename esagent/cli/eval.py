"""`esagent eval`: a run's base and trained agent side by side, or a bare model, on tasks of choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from esagent.cli.complete import choices, complete_evaluated
from esagent.cli.environment import prepare
from esagent.cli.errors import guarded
from esagent.cli.output import only_data, print_json, to_terminal
from esagent.cli.train import ConfigDir, Json
from esagent.config.names import EVAL_SETTINGS, SPLIT_NAMES, SPLITS

What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN] [OVERRIDES]",
        help="A run (folder, name/run-id, run id or latest), then settings as in task.level=medium; "
        "without a run, the settings say which model: model=qwen2.5-1.5b task=toolbox.",
        autocompletion=complete_evaluated,
    ),
]
State = Annotated[
    str | None,
    typer.Option(
        "--state",
        help="State of the run: best, last or a number of updates.  [default: best; last until then]",
        autocompletion=choices("best", "last"),
    ),
]
Split = Annotated[
    str,
    typer.Option(
        "--split", help="Tasks: pool, validation or heldout (test).", autocompletion=choices(*SPLITS, *SPLIT_NAMES)
    ),
]
N = Annotated[int | None, typer.Option("--n", help="How many tasks.  [default: as many as the run has]")]
K = Annotated[int, typer.Option("--k", help="Samples per task, for pass@1 to pass@k; 0: greedy alone.")]
Interventions = Annotated[
    bool,
    typer.Option("--interventions", help="Also give each module its gold behaviour, one at a time, and tell the gain."),
]
Temperature = Annotated[float, typer.Option("--temperature", help="Temperature of the samples.")]


def evaluate(
    what: What = None,
    state: State = None,
    split: Split = "heldout",
    n: N = None,
    k: K = 4,
    temperature: Temperature = 0.3,
    interventions: Interventions = False,
    as_json: Json = False,
    config_dir: ConfigDir = None,
) -> None:
    """Evaluate a run's agent beside its base, or a bare model: greedy and sampled, with pass@k.

    The options may also be written as settings: split=pool k=8.
    """
    with guarded():
        prepare()
        given = {"state": state, "split": split, "n": n, "k": k, "temperature": temperature}
        chosen = {"interventions": interventions}
        run, overrides, given = _sort(what or [], given)
        _check(given)
        with only_data():
            result = _run(run, overrides, given | chosen, config_dir, plain=as_json)
        if as_json:
            print_json(result)
        else:
            from esagent.report.evaluation import render_evaluation

            to_terminal(render_evaluation(result))


def _run(
    run: str | None, overrides: Sequence[str], given: Mapping[str, Any], config_dir: Path | None, *, plain: bool
) -> dict[str, Any]:
    if run is None:
        from esagent.cli.bridge import compose

        config = compose(overrides, config_dir)
        from esagent.eval import Options, evaluate_model

        return evaluate_model(config, Options(**given), plain=plain)
    from esagent.config.amend import amend
    from esagent.runs.find import find_run
    from esagent.runs.place import read_located

    directory = find_run(run)
    trained = read_located(directory)
    from esagent.eval import Options, evaluate_run

    config = amend(trained, overrides, config_dir, EVAL_SETTINGS, "eval")
    return evaluate_run(directory, trained, config, Options(**given), plain=plain)


def _sort(what: Sequence[str], given: Mapping[str, Any]) -> tuple[str | None, list[str], dict[str, Any]]:
    """The run, if one is named; the overrides; and the options with those that were written as settings."""
    from esagent.errors import ConfigError

    runs, overrides, options, problems = [], [], dict(given), []
    for text in what:
        key, equals, value = text.partition("=")
        if not equals or Path(text, "config.yaml").is_file():
            runs.append(text)
        elif key in options:
            kind = {"n": int, "k": int, "temperature": float}.get(key, str)
            try:
                options[key] = kind(value)
            except ValueError:
                problems.append(f"{text}: {key} must be a {'whole ' if kind is int else ''}number")
        else:
            overrides.append(text)
    if len(runs) > 1:
        problems.append(f"{runs[1]!r}: one run at a time, {runs[0]!r} was named before; settings read key=value")
    if problems:
        raise ConfigError(*problems)
    options["split"] = SPLIT_NAMES.get(options["split"], options["split"])
    return runs[0] if runs else None, overrides, options


def _check(given: Mapping[str, Any]) -> None:
    from esagent.config.nearest import suggest
    from esagent.errors import ConfigError

    problems = []
    if given["split"] not in SPLITS:
        problems.append(f"split={given['split']}: {suggest(given['split'], SPLITS)}")
    if given["n"] is not None and not 1 <= given["n"] <= 1_000_000:
        problems.append(f"n={given['n']}: must be from 1 to 1000000")
    if not 0 <= given["k"] <= 1024:
        problems.append(f"k={given['k']}: must be from 0 to 1024")
    if not 0 < given["temperature"] <= 100:
        problems.append(f"temperature={given['temperature']}: must be above 0, at most 100; k=0 decodes greedily alone")
    if problems:
        raise ConfigError(*problems)
