"""1, 2 and 3 workers give the rewards, updates and digests of one backend, and what they are told stays small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="backend=ray needs Ray")

from esagent.backends.ray.traffic import LIMIT
from tests.helpers.tiny import make_tiny_folder
from tests.ray.processes import reused as reused
from tests.ray.small import alone, spread, story

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_folder(tmp_path_factory.mktemp("model") / "tiny")


@pytest.mark.parametrize(("space", "workers"), [("bias", (1, 2, 3)), ("core", (2,)), ("lowrank", (3,)), ("full", (2,))])
def test_any_number_of_workers_gives_the_run_of_one_backend(
    model: Path, tmp_path: Path, space: str, workers: tuple[int, ...]
) -> None:
    expected = story(alone(model, tmp_path / "alone", space))
    assert len({digest for _, _, _, digest, *_ in expected}) == 3
    assert len({reward for rewards, *_ in expected for row in rewards for reward in row}) > 6
    for count in workers:
        told = spread(model, tmp_path / str(count), space, count)
        assert story(told) == expected
        for record in told:
            check_messages(record["workers"], count)


def check_messages(said: dict[str, Any], workers: int) -> None:
    assert said["workers"] == workers
    assert said["events"] == []
    assert 0 < said["message_bytes"] <= LIMIT
    assert said["message_bytes"] <= said["all_message_bytes"] <= workers * said["message_bytes"]
    assert said["text_bytes"] > 0
    assert said["replay_bytes"] == 0


def test_likelihoods_are_spread_as_well(model: Path, tmp_path: Path) -> None:
    supervised = [
        *("agent.target=null", "agent=modular", "task.target=null", "task=toolbox", "objective=likelihood"),
        "agent.options={max_new_tokens:{planner:6,selector:6,caller:8,synthesizer:6}}",
    ]
    expected = story(alone(model, tmp_path / "alone", "bias", *supervised))
    assert story(spread(model, tmp_path / "two", "bias", 2, *supervised)) == expected
