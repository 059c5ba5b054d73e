"""The page of `esagent stats`: it loads nothing, says what the tables say, and can be read without colour."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from esagent.config.study import load_study
from esagent.report.looks import LOOKS
from esagent.report.response import print_response, response_json
from esagent.report.statspage import render_stats_page, write_stats_page
from esagent.report.tasklevel import print_tasks, tasks_json
from esagent.report.traces import band, gather, learning_curve, movement, truth_of
from esagent.report.verdicts import assessment_json, print_assessment
from esagent.stats.compare import compare
from esagent.stats.over import respond
from esagent.stats.preregistered import assess
from esagent.stats.results import find_results
from esagent.stats.student import t_interval
from esagent.stats.within import compare_tasks
from tests.report.test_page import check
from tests.stats.studies import write_run

MODULES = ("caller", "planner")
LOSSES = {"full": 0.0, "some": 0.05, "none": 0.1}
SEEDS = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three arms that lose what they are called, five seeds each, started under a study."""
    folder = tmp_path_factory.mktemp("page")
    hypotheses = {
        "harm": {"claim": "worse", "arms": ["none"]},
        "line": {"claim": "linear", "x": {"full": 0, "some": 0.5, "none": 1}, "r_squared": 0.9, "family": "lines"},
    }
    arms = {arm: {"algorithm.pull": loss} for arm, loss in LOSSES.items()}
    data = {"name": "demo", "metric": "final", "seeds": "0-4", "baseline": "full", "arms": arms}
    (folder / "study.yaml").write_text(yaml.safe_dump(data | {"hypotheses": hypotheses}, sort_keys=False))
    stamp = load_study(folder / "study.yaml").stamp
    rng = np.random.default_rng(0)
    for arm, loss in LOSSES.items():
        for seed in range(SEEDS):
            final = 0.6 + 0.05 * seed - loss + float(rng.normal(0, 0.002))
            write_run(
                folder / "runs" / f"{arm}-{seed}",
                [f"algorithm.pull={loss}", f"seed={seed}"],
                curve={0: 0.2, 2: 0.4 - loss / 2, 4: final},
                steps=[_step(step) for step in range(4)],
                pool={"blamed": {"caller": 3, "planner": 1}, "tasks": ["a", "b"], "rewards": [final, final / 2]},
                summary={"blocks": {name: {"path": 2.0, "displacement": 0.5, "signal": None} for name in MODULES}},
                study=stamp,
            )
    return folder


def _step(step: int) -> dict[str, Any]:
    share = 0.5 + step / 10
    return {
        "credit": {"caller": share, "planner": 1 - share},
        "directions": {"caller": 3 + step, "planner": 3 - step},
        "moved": {"caller": 0.5, "planner": 0.25},
    }


def results(folder: Path):
    return find_results([str(folder / "runs")])


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, str]:
    runs = results(folder)
    report = compare(runs, metric="final", baseline="pull=0", margin=0.02)
    response = respond(runs, "algorithm.pull", metric="final", baseline=None)
    assessment = assess(load_study(folder / "study.yaml"), runs)
    return {
        "report": render_stats_page(runs, report=report),
        "response": render_stats_page(runs, response=response),
        "assessment": render_stats_page(assessment.used, assessment=assessment),
    }


def test_pages_are_well_formed_and_load_nothing(pages: dict[str, str]) -> None:
    figures = {"report": 5, "response": 5, "assessment": 6}
    for kind, page in pages.items():
        checker = check(page)
        assert checker.loads == []
        assert not {"script", "link", "img", "iframe", "object"} & set(checker.tags)
        assert "@import" not in checker.styles
        assert re.findall(r"url\((?!#)", page) == []
        assert checker.tags.count("svg") == figures[kind]
        assert len(set(checker.ids)) == len(checker.ids)  # figures share no id
        text = " ".join(checker.text.split())
        for heading in ("Learning curves", "Credit against truth", "Allocation over time", "Movement per block"):
            assert heading in text


def test_a_page_says_what_the_tables_say(folder: Path, pages: dict[str, str]) -> None:
    made = {kind: " ".join(check(page).text.split()) for kind, page in pages.items()}
    assert "Preregistered: every run was started under this very file." in made["assessment"]
    assert "none: worse than full" in made["assessment"]
    stream = io.StringIO()
    found = assess(load_study(folder / "study.yaml"), results(folder))
    print_assessment(found, stream)
    for verdict in found.verdicts:
        assert verdict.verdict == "holds"
        assert verdict.why in made["assessment"]
    assert "holds" in stream.getvalue()
    assert assessment_json(found)["hypotheses"][1]["line"]["r_squared"] > 0.99
    report = compare(results(folder), metric="final", baseline="pull=0", margin=0.02)
    for comparison in report.comparisons:
        assert f"{comparison.test.mean:+.3f}" in made["report"]
        assert f"p = {comparison.test.p_two_sided:.3g}" in made["report"]


def test_lines_and_areas_differ_without_colour(pages: dict[str, str]) -> None:
    page = pages["report"]
    assert len({look.dash if isinstance(look.dash, str) else str(look.dash) for look in LOOKS}) == len(LOOKS)
    assert len({look.marker for look in LOOKS}) == len({look.hatch for look in LOOKS}) == len(LOOKS)
    assert page.count("<pattern") >= 4  # hatches of both modules, in allocation and movement
    assert len(set(re.findall(r"stroke-dasharray: ([^;]+);", page))) >= 3


def test_the_response_and_its_tables(folder: Path) -> None:
    found = respond(results(folder), "algorithm.pull", metric="final", baseline=None)
    stream = io.StringIO()
    print_response(found, stream)
    assert "difference to algorithm.pull=0" in stream.getvalue()
    (curve,) = response_json(found)["curves"]
    assert [point["x"] for point in curve["points"]] == [0.0, 0.05, 0.1]
    assert curve["slope"]["mean"] == pytest.approx(-1.0, abs=0.1)


def test_tasks_are_labelled_as_such(folder: Path) -> None:
    found = compare_tasks(results(folder), metric="final", baseline="pull=0")
    stream = io.StringIO()
    print_tasks(found, stream)
    text = " ".join(stream.getvalue().split())
    assert "task level: difference to algorithm.pull=0 over tasks, each seed by itself" in text
    assert "Rows are never pooled" in text
    assert tasks_json(found)["level"] == "tasks within a training seed"
    assert len(found.comparisons) == 2 * SEEDS


def test_what_is_drawn_is_the_mean_over_seeds(folder: Path) -> None:
    arms = gather(results(folder), [result.path.name.split("-")[0] for result in results(folder)])
    (full,) = (arm for arm in arms if arm.label == "full")
    finals = [learning_curve(history)[4] for history in full.histories]
    drawn = band(full, learning_curve)
    assert drawn.steps == [0, 2, 4]
    assert drawn.mean[-1] == pytest.approx(np.mean(finals))
    assert (drawn.low[-1], drawn.high[-1]) == pytest.approx(t_interval(finals))
    assert band(full, truth_of("caller")).mean.tolist() == [0.75] * 3
    assert movement(full, "path") == {"caller": 2.0, "planner": 2.0}
    assert movement(full, "signal") == {}


def test_runs_of_an_earlier_version_have_a_path_and_no_truth(tmp_path: Path) -> None:
    for arm in ("answer", "all"):
        write_run(tmp_path / arm, [f"space.positions={arm}"], steps=[_step(step) for step in range(4)])
    runs = find_results([str(tmp_path)])
    (one, _) = gather(runs, ["a", "b"])
    assert movement(one, "path") == {"caller": 2.0, "planner": 1.0}
    page = render_stats_page(runs, report=compare(runs, metric="final", baseline="answer"))
    assert "Credit against truth" not in page
    assert "Movement per block" in page


def test_many_arms_get_a_panel_each_beside_the_baseline(tmp_path: Path) -> None:
    for pull in range(8):
        write_run(tmp_path / f"{pull}", [f"algorithm.pull={pull / 10}"], curve={0: 0.2, 4: 0.3 + pull / 20})
    runs = find_results([str(tmp_path)])
    text = check(render_stats_page(runs, report=compare(runs, metric="final", baseline="pull=0.1"))).text
    assert text.count("algorithm.pull=0.1 (baseline)") == 1
    assert "arm of the panel" in text


@pytest.mark.browser
def test_a_browser_shows_it(folder: Path, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs chromium")
    found = assess(load_study(folder / "study.yaml"), results(folder))
    page = write_stats_page(tmp_path / "page.html", found.used, assessment=found)
    shot = tmp_path / "page.png"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [chromium, *options, f"--screenshot={shot}", "--window-size=1100,3600", "--enable-logging=stderr"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr  # nothing blocked by the page's own policy, no error
    from matplotlib.image import imread

    pixels = imread(shot)[:, :, :3]
    assert pixels.std() > 0.05
