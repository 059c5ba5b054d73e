"""A signal during the last evaluations of a run: it stops, and a resume gives the summary it would have given."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esagent.config.schema import Config
from esagent.errors import Interrupted, Preempted
from esagent.runs.metrics import read_rows
from esagent.train import resume, train
from tests.helpers.vector import VectorBackend, vector_config, vector_parts
from tests.test_train import outcome, run_of


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Path, dict]:
    config = vector_config(tmp_path_factory.mktemp("runs"))
    summary = train(config, build=vector_parts)
    return config, run_of(config), summary


class EvaluatedToTheEnd(VectorBackend):
    """Sends this process a signal in the evaluation of the last state, while it answers for the `at`-th time there."""

    at, number = 1, signal.SIGINT

    def generate(self, requests, members):
        if self._updates == 8 and not members:
            self.at -= 1
            if self.at == 0:
                os.kill(os.getpid(), self.number)
        return super().generate(requests, members)


# The agent answers in two rounds, on the pool (1, 2) and on validation tasks (3, 4) of the last state; after that the
# chosen one, of step 8 here, meets the held-out tasks (5, 6): after (6) there is nothing left to stop.
def without(value: Any, names: set[str]) -> Any:
    """A summary without what no two runs have in common, at any depth."""
    return {k: without(v, names) for k, v in value.items() if k not in names} if isinstance(value, dict) else value


@pytest.mark.parametrize(("at", "left"), [(1, "pool"), (3, "validation"), (5, "heldout")])
@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, Interrupted), (signal.SIGTERM, Preempted)])
def test_a_signal_stops_the_last_evaluations_and_resume_gives_the_same_summary(
    finished, tmp_path: Path, at: int, left: str, number: int, error: type[Exception]
) -> None:
    config, path, summary = finished
    config = replace(config, runs_dir=str(tmp_path))
    backend = EvaluatedToTheEnd()
    backend.at, backend.number = at, number
    assert summary["selected_step"] == 8
    with pytest.raises(error, match="esagent resume"):
        train(config, build=lambda config: replace(vector_parts(config), backend=backend))
    stopped = run_of(config)
    rows = [row for row in read_rows(stopped / "metrics.jsonl") if row["kind"] == "evaluation" and row["step"] == 8]
    assert [row["split"] for row in rows] == ["pool", "validation", "heldout"][
        : ["pool", "validation", "heldout"].index(left)
    ]
    assert (stopped / "preempted").exists() == (number == signal.SIGTERM)

    again = resume(stopped, build=vector_parts)
    assert outcome(stopped) == outcome(path)
    times = ("run", "seconds", "tokens_per_second", "outside_generation_share")
    changing = {*times, "generation_seconds", "peak_memory_bytes", "metrics_sha256", "checksum"}
    assert without(again, changing) == without(summary, changing)
    assert not (stopped / "preempted").exists()


def test_a_signal_in_the_very_last_round_stops_nothing(finished, tmp_path: Path) -> None:
    config, _, summary = finished
    backend = EvaluatedToTheEnd()
    backend.at = 6
    config = replace(config, runs_dir=str(tmp_path))
    again = train(config, build=lambda config: replace(vector_parts(config), backend=backend))
    assert (backend.at, again["heldout"]) == (0, summary["heldout"])
