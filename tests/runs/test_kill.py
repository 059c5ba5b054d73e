"""The quickstart really killed (SIGKILL), at every boundary in turn and at random instants: it ends as undisturbed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from esagent.config.schema import Config
from esagent.core.noise import key, uniform
from esagent.runs.directory import RunDirectory
from esagent.runs.find import list_runs
from tests.helpers.tiny import make_tiny_folder
from tests.runs.boundaries import BEGINNING, BOUNDARIES, ENDING, RUNNING, arm
from tests.runs.limited import context
from tests.runs.story import story
from tests.runs.tiny_run import go_on, tiny_config

pytestmark = pytest.mark.kill

INSTANTS = int(os.environ.get("ESAGENT_TEST_INSTANTS", "30"))
EACH_BOUNDARY = bool(os.environ.get("ESAGENT_TEST_EACH_BOUNDARY"))


def child(function: Callable[..., None], *arguments: Any) -> Any:
    process = context().Process(target=function, args=arguments)
    process.start()
    return process


def _work(config: Config, ready: Any = None) -> None:
    if ready is not None:
        ready.set()
    go_on(config)


def _die_at(config: Config, boundary: str) -> None:
    arm(boundary)
    go_on(config)


def ended(process: Any) -> int:
    process.join(120)
    assert process.exitcode is not None, "the child hangs"
    return int(process.exitcode)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_folder(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def undisturbed(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], float]:
    """What an undisturbed run leaves, and how many seconds it took."""
    config = tiny_config(model, tmp_path_factory.mktemp("undisturbed") / "runs")
    ready = context().Event()
    process = child(_work, config, ready)
    assert ready.wait(120)
    start = time.monotonic()
    assert ended(process) == 0, Path(f"{config.runs_dir}.log").read_text()
    (run,) = list_runs(config.runs_dir)
    return story(run), time.monotonic() - start


def test_the_undisturbed_run_is_worth_comparing_with(undisturbed: tuple[dict[str, Any], float]) -> None:
    told, _ = undisturbed
    digests = {record["digest"] for record in told["records"]}
    assert len(told["records"]) == len(digests) == 4
    assert all(len({reward for member in record["rewards"] for reward in member}) > 4 for record in told["records"])


def finish(config: Config) -> RunDirectory:
    assert ended(child(_work, config)) == 0, Path(f"{config.runs_dir}.log").read_text()
    (run,) = list_runs(config.runs_dir)
    return run


@pytest.mark.parametrize("boundaries", [BEGINNING, RUNNING], ids=["beginning", "running"])
def test_killed_at_every_boundary_in_turn(
    model: Path, tmp_path: Path, undisturbed: tuple[dict[str, Any], float], boundaries: dict[str, Any]
) -> None:
    config = tiny_config(model, tmp_path / "runs")
    for boundary in boundaries:
        code = ended(child(_die_at, config, boundary))
        assert code == -signal.SIGKILL, f"{boundary}: {code}\n{Path(f'{config.runs_dir}.log').read_text()}"
    assert story(finish(config)) == undisturbed[0]


@pytest.mark.parametrize("boundary", BOUNDARIES if EACH_BOUNDARY else ENDING)
def test_killed_at_one_boundary(
    model: Path, tmp_path: Path, undisturbed: tuple[dict[str, Any], float], boundary: str
) -> None:
    config = tiny_config(model, tmp_path / "runs")
    assert ended(child(_die_at, config, boundary)) == -signal.SIGKILL
    assert story(finish(config)) == undisturbed[0]


COMPOSITIONS = {
    "core": ["space=core", "space.rank=4"],
    "core on all tokens, momentum": [
        "space=core",
        "space.positions=all",
        "algorithm.rule=momentum",
        "algorithm.momentum=0.9",
    ],
    "adam": ["algorithm.rule=adam"],
    "joint, ranks": ["allocation=joint", "algorithm.shaping=ranks"],
    "plain estimate, schedules": ["algorithm.normalise=none", "sigma.schedule=cosine", "sigma.end=0.5"],
    "by credit, pauses made up for": [
        "allocation=argmax",
        "allocation.wrap=catchup",
        "credit.source=unperturbed",
        "credit.noise=0.3",
    ],
    "one module": ["agent=react", "allocation=joint"],
}


@pytest.mark.parametrize("overrides", COMPOSITIONS.values(), ids=COMPOSITIONS)
def test_every_algorithm_and_space_is_rebuilt_from_its_journal(
    model: Path, tmp_path: Path, overrides: list[str]
) -> None:
    """Killed after the second of four steps, all snapshots lost: what goes on is replayed from the base."""
    whole = tiny_config(model, tmp_path / "whole", "space.layers=2-3", *overrides)
    killed = tiny_config(model, tmp_path / "killed", "space.layers=2-3", *overrides)
    undisturbed = story(finish(whole))
    assert len({record["digest"] for record in undisturbed["records"]}) == 4
    assert ended(child(_die_at, killed, "after a record")) == -signal.SIGKILL
    for path in list_runs(killed.runs_dir)[0].snapshots.iterdir():
        path.unlink()
    resumed = story(finish(killed))
    for told in (undisturbed, resumed):
        del told["files"]  # snapshots of states that were passed before
    assert resumed == undisturbed


@pytest.mark.parametrize("number", range(INSTANTS))
def test_killed_at_a_random_instant(
    model: Path, tmp_path: Path, undisturbed: tuple[dict[str, Any], float], number: int
) -> None:
    told, seconds = undisturbed
    config = tiny_config(model, tmp_path / "runs")
    ready = context().Event()
    process = child(_work, config, ready)
    assert ready.wait(120)
    time.sleep(seconds * float(uniform(key("instant", number), 1)[0]))
    process.kill()
    assert ended(process) in (0, -signal.SIGKILL)
    assert story(finish(config)) == told
