import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from esagent.report.curve import draw, save_curve
from esagent.report.rows import read_history
from esagent.stats.intervals import mean_interval


def test_both_files_are_drawn_and_nothing_else_is_left(finished: Path) -> None:
    svg, png = save_curve(finished)
    text = "".join(ElementTree.parse(svg).getroot().itertext())
    for label in (
        "training pool (95% interval over tasks)",
        "validation",
        "held-out",
        "base agent",
        "members",
        "seed 0",
    ):
        assert label in text
    assert imread(png).shape[:2] == (645, 1050)
    assert sorted(p.name for p in finished.iterdir()) == ["curve.png", "curve.svg", "metrics.jsonl", "summary.json"]


def test_equal_data_give_equal_files(finished: Path) -> None:
    first = [path.read_bytes() for path in save_curve(finished)]
    assert [path.read_bytes() for path in save_curve(finished)] == first


def test_points_and_intervals_are_those_of_the_rows(finished: Path) -> None:
    history = read_history(finished)
    (axes,) = draw(history).axes
    drawn = {c.get_label(): c for c in axes.containers}
    pool = drawn["training pool (95% interval over tasks)"]
    line, _, (bars,) = pool
    evaluations = history.evaluations["pool"]
    assert line.get_xdata().tolist() == [0, 2, 4]
    assert line.get_ydata().tolist() == [e.mean for e in evaluations]
    for segment, evaluation in zip(bars.get_segments(), evaluations, strict=True):
        interval = mean_interval(evaluation.rewards)
        assert segment[:, 1].tolist() == pytest.approx([interval.low, interval.high])
    heldout, _, _ = drawn["held-out: base and trained"]
    assert min(heldout.get_xdata()) > 4
    assert heldout.get_ydata().tolist() == [e.mean for e in history.evaluations["heldout"]]


def test_lines_differ_without_colour(finished: Path) -> None:
    (axes,) = draw(read_history(finished)).axes
    looks = [(c[0].get_linestyle(), c[0].get_marker()) for c in axes.containers]
    assert len(set(looks)) == len(looks) == 3


def test_a_run_that_only_began(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"kind": "evaluation", "step": 0, "split": "heldout", "mean": 0.5}\n')
    for path in save_curve(tmp_path):
        assert path.stat().st_size > 1000
    (tmp_path / "metrics.jsonl").unlink()
    _, png = save_curve(tmp_path)
    assert np.isfinite(imread(png)).all()


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = "import sys, esagent.report.curve, esagent.report.console; print({'matplotlib', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
