"""`esagent stats`: is one arm of a study better than another, beyond the luck of seeds?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esagent.cli.complete import choices, complete_study
from esagent.cli.errors import guarded, tell
from esagent.cli.output import print_json
from esagent.cli.train import Json

if TYPE_CHECKING:
    from esagent.stats.results import Result

_LEVELS = ("seeds", "tasks")
_COUNTS = "5,6,8,10,12,16,20"

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUNS",
        help="Run directories, folders of them, names under runs/, or run ids.",
        autocompletion=complete_study,
        show_default=False,
    ),
]
Baseline = Annotated[
    str | None, typer.Option(metavar="ARM", help="The arm to compare the others with, or a part of its label.")
]
Metric = Annotated[
    str | None,
    typer.Option(
        help="auc, final (both on the pool) or heldout.  [default: auc]",
        autocompletion=choices("auc", "final", "heldout"),
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY", help="Tell arms apart by this setting alone; may be given again."),
]
Margin = Annotated[
    float | None, typer.Option(help="Also: no better by so much, and equivalent within it (two one-sided tests)?")
]
Over = Annotated[
    str | None, typer.Option(metavar="KEY", help="The differences over this numeric setting, and a line through them.")
]
Level = Annotated[
    str,
    typer.Option(
        help="seeds: about training, n = seeds. tasks: within each seed, about these agents.",
        autocompletion=choices(*_LEVELS),
    ),
]
StudyFile = Annotated[
    Path | None, typer.Option("--study", metavar="FILE", help="Judge the hypotheses of this preregistered study.")
]
Html = Annotated[Path | None, typer.Option("--html", metavar="PATH", help="Write figures and tables as one page.")]
Power = Annotated[bool, typer.Option("--power", help="Without runs: the smallest p and the power of n seeds.")]
Counts = Annotated[str | None, typer.Option("--n", help=f"With --power: numbers of seeds.  [default: {_COUNTS}]")]
Effect = Annotated[float | None, typer.Option(help="With --power: the true mean difference.")]
Sd = Annotated[float | None, typer.Option(help="With --power: its standard deviation over seeds.  [default: 1]")]
Alpha = Annotated[float | None, typer.Option(help="With --power: level of the tests.  [default: 0.05]")]
Family = Annotated[int | None, typer.Option(help="With --power: tests that Holm corrects for.  [default: 1]")]


def stats(
    runs: Runs = None,
    baseline: Baseline = None,
    metric: Metric = None,
    by: By = None,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    margin: Margin = None,
    per_seed: Annotated[bool, typer.Option("--per-seed", help="Also the metric of every run.")] = False,
    over: Over = None,
    level: Level = "seeds",
    study: StudyFile = None,
    html: Html = None,
    power: Power = False,
    counts: Counts = None,
    effect: Effect = None,
    sd: Sd = None,
    alpha: Alpha = None,
    family: Family = None,
    as_json: Json = False,
) -> None:
    """Compare the arms of a study over paired seeds: exact sign-flip test, interval, smallest possible p."""
    with guarded():
        planned = {"--n": counts, "--effect": effect, "--sd": sd, "--alpha": alpha, "--family": family}
        chosen = {"--baseline": baseline, "--metric": metric, "--by": by, "--over": over, "--per-seed": per_seed}
        if power:
            _refuse("--power", {"RUNS": runs, "--html": html, "--level": level != "seeds", **chosen})
            _power(study, counts, alpha, family, effect, sd, margin, as_json)
            return
        _refuse("comparing runs", planned, "; add --power")
        if not runs:
            from esagent.errors import ConfigError

            raise ConfigError("RUNS is missing: run directories, folders of them, names under runs/, or run ids")
        if study is not None:
            _refuse("--study", {"--margin": margin, "--level": level != "seeds", **chosen}, "; the study says it")
            _study(runs, study, html, as_json)
        elif _known_level(level) == "tasks":
            refused = {"--over": over, "--margin": margin, "--per-seed": per_seed, "--html": html}
            _refuse("--level tasks", refused, "; it is about training seeds")
            _tasks(runs, metric or "auc", baseline, by or [], confidence, as_json)
        elif over is not None:
            _refuse("--over", {"--margin": margin, "--per-seed": per_seed})
            _over(runs, over, metric or "auc", baseline, by or [], confidence, html, as_json)
        else:
            _arms(runs, metric or "auc", baseline, by or [], confidence, margin, per_seed, html, as_json)


def _refuse(what: str, options: dict[str, Any], advice: str = "") -> None:
    from esagent.errors import ConfigError

    given = [name for name, value in options.items() if value not in (None, False, [])]
    if given:
        raise ConfigError(f"{what} does not take {', '.join(given)}{advice}")


def _known_level(level: str) -> str:
    from esagent.config.nearest import suggest
    from esagent.errors import ConfigError

    if level not in _LEVELS:
        raise ConfigError(f"--level {level}: {suggest(level, _LEVELS)}")
    return level


def _arms(
    runs: list[str],
    metric: str,
    baseline: str | None,
    by: list[str],
    confidence: float,
    margin: float | None,
    per_seed: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    from esagent.report.stats import print_report, report_json
    from esagent.stats.compare import compare
    from esagent.stats.results import find_results

    results = find_results(runs)
    report = compare(results, metric=metric, baseline=baseline, by=by, confidence=confidence, margin=margin)
    _page(html, results, report=report)
    if as_json:
        print_json(report_json(report))
    else:
        print_report(report, per_seed=per_seed)


def _over(
    runs: list[str],
    over: str,
    metric: str,
    baseline: str | None,
    by: list[str],
    confidence: float,
    html: Path | None,
    as_json: bool,
) -> None:
    from esagent.report.response import print_response, response_json
    from esagent.stats.over import respond
    from esagent.stats.results import find_results

    results = find_results(runs)
    found = respond(results, over, metric=metric, baseline=baseline, by=by, confidence=confidence)
    _page(html, results, response=found)
    if as_json:
        print_json(response_json(found))
    else:
        print_response(found)


def _tasks(runs: list[str], metric: str, baseline: str | None, by: list[str], confidence: float, as_json: bool) -> None:
    from esagent.report.tasklevel import print_tasks, tasks_json
    from esagent.stats.results import find_results
    from esagent.stats.within import compare_tasks

    found = compare_tasks(find_results(runs), metric=metric, baseline=baseline, by=by, confidence=confidence)
    if as_json:
        print_json(tasks_json(found))
    else:
        print_tasks(found)


def _study(runs: list[str], path: Path, html: Path | None, as_json: bool) -> None:
    from esagent.config.study import load_study
    from esagent.report.verdicts import assessment_json, print_assessment
    from esagent.stats.preregistered import assess
    from esagent.stats.results import find_results

    study = load_study(path)
    results = find_results(runs)
    found = assess(study, results)
    _page(html, found.used, assessment=found)
    if as_json:
        print_json(assessment_json(found))
    else:
        print_assessment(found)


def _page(path: Path | None, results: Sequence[Result], **content: Any) -> None:
    """Write the page, if one is wanted, and say on standard error where it is."""
    if path is not None:
        from esagent.report.statspage import write_stats_page

        tell(f"page written to {write_stats_page(path, results, **content)}")


def _power(
    study: Path | None,
    counts: str | None,
    alpha: float | None,
    family: int | None,
    effect: float | None,
    sd: float | None,
    margin: float | None,
    as_json: bool,
) -> None:
    from esagent.config.study import load_study
    from esagent.errors import ConfigError
    from esagent.report.power import power_json, print_power
    from esagent.stats.planning import plan_power

    if study is not None:
        _refuse("--power --study", {"--n": counts, "--alpha": alpha, "--family": family}, "; the study says it")
        found = load_study(study)
        counts, alpha = str(len(found.seeds)), found.alpha
        family = max(len(members) for members in found.families.values())
        margin = found.margin if margin is None else margin
    numbers = (counts or _COUNTS).replace(" ", "").split(",")
    wrong = [text for text in numbers if not text.isdecimal()]
    if wrong:
        raise ConfigError(f"--n {counts}: {wrong[0]!r} is no number of seeds; write --n 8 or --n 6,8,12")
    plan = plan_power(
        [int(text) for text in numbers],
        alpha=0.05 if alpha is None else alpha,
        family=1 if family is None else family,
        effect=effect,
        sd=sd,
        margin=margin,
    )
    if as_json:
        print_json(power_json(plan))
    else:
        print_power(plan)
