import math
from pathlib import Path

from esagent.runs.metrics import append_row, read_lines, read_rows


def test_rows_come_back_without_what_is_not_finite(tmp_path: Path) -> None:
    path = tmp_path / "m"
    append_row(path, {"kind": "step", "step": 0, "reward_mean": math.nan, "sigma": {"planner": 0.1}})
    assert read_rows(path) == [{"kind": "step", "step": 0, "reward_mean": None, "sigma": {"planner": 0.1}}]
    assert read_rows(tmp_path / "none") == []


def test_what_is_no_whole_row_is_left_out_and_can_be_told(tmp_path: Path) -> None:
    path = tmp_path / "m"
    whole = b'{"kind":"step","step":0}\n'
    junk = [
        b"{\n",
        b"[1]\n",
        b'{"kind":"step","step":"0"}\n',
        b'{"kind":"step","step":-1}\n',
        b"\xff\0\n",
        b'{"step":1}\n',
    ]
    path.write_bytes(whole + b"".join(junk) + whole + whole[:-1])
    assert read_rows(path) == [{"kind": "step", "step": 0}] * 2
    assert [row is None for row in read_lines(path)] == [False, *[True] * len(junk), False, True]
