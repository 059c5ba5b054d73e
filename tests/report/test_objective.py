"""A supervised run is called so wherever it is shown, and a calibration is told with what it chose and why."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from esagent.config.schema import Objective
from esagent.report.conversation import render as render_episode
from esagent.report.curve import draw
from esagent.report.episodes import Wanted, find_episode, find_file
from esagent.report.listing import list_rows, table
from esagent.report.overview import overview, render
from esagent.report.page import render_page
from esagent.report.run import Run, read_run
from esagent.report.summary import print_summary
from esagent.train import train
from tests.helpers.vector import vector_config, vector_parts

SUPERVISED = "log-likelihood of gold outputs (supervised)"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    folder = tmp_path_factory.mktemp("runs")
    config = replace(vector_config(folder, steps=3), objective=Objective.likelihood)
    config.sigma = replace(config.sigma, start=1.0, end=1.0, auto=True)
    capture = pytest.MonkeyPatch()
    stderr = io.StringIO()
    capture.setattr("sys.stderr", stderr)
    summary = train(config, json_mode=True, build=vector_parts)
    capture.undo()
    return Path(summary["run"]), summary, stderr.getvalue()


@pytest.fixture
def found(made: tuple[Path, dict[str, Any], str]) -> Run:
    return read_run(made[0])


def text(renderable: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=160).print(renderable)
    return stream.getvalue()


def test_progress_names_the_fitness_and_shows_the_calibration(made: tuple[Path, dict[str, Any], str]) -> None:
    told = made[2]
    assert "step 1/3  gold log-likelihood -" in told
    assert "Sigma by calibration: 30% of greedy completions shall change" in told
    assert "changes the wanted share" in told


def test_the_closing_table(made: tuple[Path, dict[str, Any], str]) -> None:
    stream = io.StringIO()
    print_summary(made[1], stream)
    assert SUPERVISED in stream.getvalue()
    assert "Sigma by calibration" in stream.getvalue()


def test_show_and_ls(found: Run, made: tuple[Path, dict[str, Any], str]) -> None:
    data = overview(found, {})
    json.dumps(data)
    assert data["objective"] == "likelihood"
    assert data["calibration"]["sigma"] == made[1]["calibration"]["sigma"]
    out = text(render(data))
    assert SUPERVISED in out
    assert "Sigma by calibration" in out
    (row,) = list_rows(made[0].parents[1])
    assert row["objective"] == "likelihood"
    assert "finished, supervised" in text(table([row]))


def test_the_page(found: Run) -> None:
    page = render_page(found, {})
    assert f"trained on {SUPERVISED}" in page
    assert "<h2>Calibration</h2>" in page
    for block, sigma in found.history.calibration["sigma"].items():
        assert f'<tr><td>{block}</td><td class="n">{sigma:.3g}</td>' in page


def test_likelihoods_are_not_drawn_on_the_axis_of_rewards(found: Run) -> None:
    assert found.history.members == []
    assert len(found.history.rows) == 3
    (axes,) = draw(found.history).axes
    assert SUPERVISED in axes.get_title()
    assert axes.get_ylim()[0] > -0.5


def test_a_gold_episode_is_no_conversation_of_a_member(found: Run) -> None:
    wanted = Wanted(step=1, member=2)
    _, episode = find_episode(find_file(found.directory, wanted), "0", wanted)
    out = text(render_episode(episode, "base"))
    assert "gold outputs, scored by member 2" in out
    assert "log-likelihood per token of the gold outputs: -" in out
    assert "reward:" not in out
    assert "not solved" not in out


def test_other_runs_are_trained_on_reward(run: Path) -> None:
    found = read_run(run)
    assert not found.supervised
    out = text(render(overview(found, {})))
    assert "trained on" in out
    assert "supervised" not in out
    assert "Calibration" not in render_page(found, {})
