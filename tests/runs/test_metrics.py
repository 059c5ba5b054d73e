import math
from pathlib import Path

from esagent.runs.metrics import append_row, read_rows, rewind


def test_rows_come_back_without_what_is_not_finite(tmp_path: Path) -> None:
    path = tmp_path / "m"
    append_row(path, {"kind": "step", "step": 0, "reward_mean": math.nan, "sigma": {"planner": 0.1}})
    assert read_rows(path) == [{"kind": "step", "step": 0, "reward_mean": None, "sigma": {"planner": 0.1}}]
    assert read_rows(tmp_path / "none") == []


def test_rewind_takes_away_what_is_ahead(tmp_path: Path) -> None:
    path = tmp_path / "m"
    for kind, step in (("evaluation", 0), ("step", 0), ("step", 1), ("evaluation", 2), ("step", 2), ("evaluation", 3)):
        append_row(path, {"kind": kind, "step": step})
    rewind(path, 2)
    kept = [(row["kind"], row["step"]) for row in read_rows(path)]
    assert kept == [("evaluation", 0), ("step", 0), ("step", 1), ("evaluation", 2)]
    rewind(tmp_path / "none", 2)
    assert not (tmp_path / "none").exists()
