"""The outcome of `esagent stats` on one self-contained page: no script, nothing fetched, light and dark.

Arms and modules differ by dash, marker and hatch as well as by colour, so that it can be read in black and white.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from esagent.report import armfigures
from esagent.report.figures import inline
from esagent.report.forest import Row, forest, losses_on, responses
from esagent.report.page import write_text_page
from esagent.report.stats import interval_text
from esagent.report.templates import page_environment
from esagent.report.text import number
from esagent.report.traces import Arm, gather
from esagent.report.verdicts import claim_text, missing_text
from esagent.stats.arms import label_arms
from esagent.stats.compare import Report
from esagent.stats.over import Response
from esagent.stats.preregistered import Assessment
from esagent.stats.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Section(NamedTuple):
    """A figure with its heading and what it shows, in words."""

    heading: str
    caption: str
    figure: Markup


def write_stats_page(
    path: Path,
    results: Sequence[Result],
    *,
    report: Report | None = None,
    response: Response | None = None,
    assessment: Assessment | None = None,
) -> Path:
    """Write the page of one of the three to `path` and return it. results: the runs it is about.

    Raises ConfigError for a path that names no file or a run that holds what no run writes, EnvironmentFailure when the
    disk does not take it.
    """
    return write_text_page(
        path, lambda: render_stats_page(results, report=report, response=response, assessment=assessment)
    )


def render_stats_page(
    results: Sequence[Result],
    *,
    report: Report | None = None,
    response: Response | None = None,
    assessment: Assessment | None = None,
) -> str:
    """The page as HTML text; sections for which the runs have no data are left out. Raises as `write_stats_page`."""
    arms, baseline = _arms(results, report, response, assessment)
    sections = [*_differences(report, response, assessment), *_over_time(arms, baseline)]
    filters = {
        "number": number,
        "signed": lambda value: number(value, signed=True),
        "p": lambda value: f"{value:.3g}",
        "limits": lambda limits: interval_text(*limits),
        "claim": claim_text,
    }
    environment = page_environment(filters)
    verdicts = assessment.verdicts if assessment else ()
    return environment.get_template("stats.html.j2").render(
        style=Markup((Path(__file__).parent / "page.css").read_text()),
        report=report,
        response=response,
        assessment=assessment,
        sections=sections,
        missing=missing_text(verdicts),
        excluded=list(dict.fromkeys(text for verdict in verdicts for text in verdict.excluded)),
        runs=len(results),
    )


def _arms(
    results: Sequence[Result], report: Report | None, response: Response | None, assessment: Assessment | None
) -> tuple[tuple[Arm, ...], str | None]:
    """The arms as they are called in the tables, and the baseline among them."""
    if assessment is not None:
        labels = [assessment.study.arms_of(result.config)[0] for result in results]
        return gather(results, labels), assessment.study.baseline
    if report is not None:
        own = {path: arm.label for arm in report.arms for path in arm.runs.values()}
        counted = [result for result in results if result.path in own]
        return gather(counted, [own[result.path] for result in counted]), report.baseline
    labels = label_arms([result.config for result in results])
    return gather(results, labels), response.baseline if response else None


def _differences(report: Report | None, response: Response | None, assessment: Assessment | None) -> Iterator[Section]:
    if report is not None:
        rows = [
            Row(c.arm, c.test.mean, *c.interval, report.margin or 0.0, f"p = {c.test.p_two_sided:.3g}")
            for c in report.comparisons
        ]
        caption = (
            f"Mean paired difference in {report.metric} to {report.baseline} over {len(report.seeds)} training seeds, "
            f"{100 * report.confidence:g}% sign-flip intervals; filled: 0 is left out; dotted: nothing is ruled out"
        )
        yield _section("Differences", caption, forest(rows, f"difference in {report.metric}", report.margin), "forest")
    if assessment is not None:
        yield from _hypotheses(assessment)
    if response is not None:
        caption = (
            f"Paired difference in {response.metric} to {response.baseline} at every value of {response.over}, "
            f"{100 * response.confidence:g}% sign-flip intervals over {len(response.seeds)} training seeds; lines by "
            "least squares through the means, bands by Student's t over the values"
        )
        figure = responses(response.curves, response.over, f"difference in {response.metric}")
        yield _section(f"Response to {response.over}", caption, figure, "response")


def _hypotheses(assessment: Assessment) -> Iterator[Section]:
    study = assessment.study
    rows = [
        Row(f"{v.hypothesis.id}: {c.arm} - {v.hypothesis.against}", c.mean, *c.interval, v.hypothesis.margin, v.verdict)
        for v in assessment.verdicts
        for c in v.contrasts
    ]
    if rows:
        caption = (
            f"Paired differences over training seeds with {100 * (1 - 2 * study.alpha):g}% intervals, either limit a "
            "one-sided bound; dashes mark each hypothesis's margin; filled: 0 is left out; dotted: nothing is ruled out"
        )
        yield _section("Differences against the margins", caption, forest(rows, "paired difference"), "forest")
    for place, verdict in enumerate(assessment.verdicts):
        if verdict.line is not None:
            h = verdict.hypothesis
            values = assessment.values[h.metric]
            seeds = [s for s in assessment.study.seeds if all(s in values[arm] for arm in (*h.arms, h.against))]
            losses = [(h.x[arm], [values[h.against][s] - values[arm][s] for s in seeds]) for arm in h.arms]
            caption = (
                f"{h.id}: loss to {h.against} in {h.metric} (mean and every seed) over x; line through the means, R² "
                f"{verdict.line.fit.r_squared:.3f}, band by Student's t"
            )
            figure = losses_on(verdict.line.fit, losses)
            yield _section(f"Loss: {h.id}", caption, figure, f"loss{place}")


def _over_time(arms: tuple[Arm, ...], baseline: str | None) -> Iterator[Section]:
    made = (
        (
            "Learning curves",
            "Mean reward of the unperturbed agent on the pool, mean over training seeds with 95% t-intervals",
            armfigures.learning_curves(arms, baseline),
            "curves",
        ),
        (
            "Credit against truth",
            "Credit of each module over its true share of the unperturbed agent's failures at the same state, mean "
            "over seeds; on the dashed line credit is right; filled: the last state",
            armfigures.credit_against_truth(arms),
            "credit",
        ),
        (
            "Allocation over time",
            "Share of each step's directions by module, mean over seeds",
            armfigures.allocation_over_time(arms),
            "allocation",
        ),
        (
            "Movement per block",
            "How far each block was moved over the run, mean over seeds, in units of the block's scale",
            armfigures.movement_per_block(arms),
            "movement",
        ),
    )
    for heading, caption, figure, salt in made:
        if figure is not None:
            yield _section(heading, caption, figure, salt)


def _section(heading: str, caption: str, figure: Figure, salt: str) -> Section:
    return Section(heading, caption, Markup(inline(figure, salt)))
