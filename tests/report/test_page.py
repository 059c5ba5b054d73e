"""The report page: one file, parsed as a browser would, that loads nothing and says what the run says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest

from esagent.report.examples import examples
from esagent.report.figures import inline, module_figure
from esagent.report.page import render_page, write_page
from esagent.report.run import read_run
from esagent.runs.episodes import evaluation_file, read_episodes

VOID = {"meta", "br", "hr", "img", "input", "link"}
LOADS = {"src", "href", "xlink:href", "srcset", "data", "action", "poster", "background"}


class Checker(HTMLParser):
    """Whether tags nest, which attributes could load something, and the visible text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.styles = ""
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in LOADS and not (value or "").startswith("#"):
                self.loads.append(f"{tag} {name}={value}")
            if name == "id":
                self.ids.append(value or "")
            if name == "style":
                self.styles += f"{value}\n"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles += data
        else:
            self.text += data


def check(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


def test_it_is_well_formed_and_loads_nothing(run: Path) -> None:
    checker = check(render_page(read_run(run), {}))
    assert checker.loads == []
    assert not {"script", "link", "img", "iframe", "object"} & set(checker.tags)
    assert "@import" not in checker.styles
    assert re.findall(r"url\((?!#)", checker.styles) == []
    assert checker.tags.count("svg") == 2
    assert {name.partition("-")[0] for name in checker.ids} == {"curve", "modules"}  # figures do not share ids


def test_it_says_what_the_run_says(run: Path) -> None:
    page = write_page(read_run(run), {"seed": {"value": 1, "default": 0}}, run / "report.html").read_text()
    text = " ".join(check(page).text.split())
    summary = json.loads((run / "summary.json").read_text())
    part = summary["heldout"]
    low, high = part["gain_interval"]
    assert f"{part['base']:.3f} before, {part['trained']:.3f} after; gain {part['gain']:+.3f}" in text
    assert f"{low:+.3f} to {high:+.3f}" in text
    for words in (run.name, "finder", "writer", "pass@2", "Better", "seed", "config_sha256", "tests.helpers.vector"):
        assert words in text


def test_theme_colours_only(run: Path) -> None:
    page = render_page(read_run(run), {})
    body = page[page.index("</style>") :]
    assert re.findall(r"#[0-9a-f]{6}\b", "".join(re.findall(r"<svg.*?</svg>", body, re.DOTALL))) == []


def test_what_models_wrote_cannot_become_markup(run: Path) -> None:
    found = read_run(run)
    (run / "config.yaml").write_text((run / "config.yaml").read_text() + "odd: '</pre><script>alert(1)</script>'\n")
    path = evaluation_file(found.directory.episodes, 0, "heldout")
    import zstandard

    lines = [json.dumps({**e, "answer": "<img src=http://x.example/y>"}) for e in read_episodes(path)]
    path.write_bytes(zstandard.ZstdCompressor().compress("\n".join(lines).encode()))
    checker = check(render_page(read_run(run), {"x": {"value": "<b>", "default": "&"}}))
    assert checker.loads == []
    assert not {"script", "img", "b"} & set(checker.tags)
    assert "<img src=http://x.example/y>" in checker.text


def test_examples_are_the_largest_gains_the_largest_loss_and_one_that_stayed_wrong(run: Path) -> None:
    found = read_run(run)
    step = found.summary["selected_step"]
    base, trained = (
        {e["task"]["id"]: e["score"]["reward"] for e in read_episodes(evaluation_file(run / "episodes", s, "heldout"))}
        for s in (0, step)
    )
    gains = sorted((trained[task] - base[task] for task in base), reverse=True)
    chosen = examples(found)
    change = [e["trained"]["score"]["reward"] - e["base"]["score"]["reward"] for e in chosen]
    assert [e["kind"] for e in chosen][:2] == ["gain", "gain"]
    assert change[:2] == gains[:2]
    for example, difference in zip(chosen, change, strict=True):
        assert example["base"]["task"]["id"] == example["trained"]["task"]["id"]
        assert {"gain": difference > 0, "loss": difference == gains[-1] < 0, "same": difference == 0}[example["kind"]]


@pytest.mark.parametrize(
    "missing", ["summary.json", "metrics.jsonl", "episodes", "evals", "manifest.json", "journal.jsonl"]
)
def test_a_run_that_lacks_something_still_has_a_page(run: Path, missing: str) -> None:
    path = run / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert run.name in check(render_page(read_run(run), None)).text


def test_a_run_that_only_began(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: {name: m}\ntask: {}\nbudget: {steps: 3}\n")
    text = " ".join(check(render_page(read_run(tmp_path), {})).text.split())
    assert "0 of 3 updates" in text
    assert "Learning curve" not in text


def test_lines_of_a_figure_differ_without_colour(run: Path) -> None:
    from matplotlib.figure import Figure

    found = module_figure(read_run(run))
    dashes = set(re.findall(r"stroke-dasharray: [^;]+; stroke-dashoffset: 0; stroke: var\(--blue\)", found))
    assert dashes
    assert "stroke: var(--ink)" in found
    figure = Figure()
    figure.add_subplot().plot([0, 1], [0, 1], color="#000000")
    first = inline(figure, "a")
    assert first == inline(figure, "a")
    assert set(re.findall(r'id="(\w+?)-', first)) == {"a"}


@pytest.mark.browser
def test_a_browser_shows_it(run: Path, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs chromium")
    page = write_page(read_run(run), {}, tmp_path / "page.html")
    shot = tmp_path / "page.png"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [
            chromium,
            *options,
            f"--screenshot={shot}",
            "--window-size=1100,3000",
            "--enable-logging=stderr",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "CONSOLE" not in done.stderr  # nothing blocked by the page's own policy, no error
    from matplotlib.image import imread

    pixels = imread(shot)[:, :, :3]
    assert pixels.std() > 0.05


def test_a_pipe_is_written_to_and_stays_one(run: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    write_page(read_run(run), {}, tmp_path / "pipe")
    reader.join(10)
    assert read[0].startswith("<!DOCTYPE html>")
    assert (tmp_path / "pipe").is_fifo()
