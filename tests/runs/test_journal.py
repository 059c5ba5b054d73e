import json
import logging
import math
from pathlib import Path

import pytest

from esagent.errors import RunError
from esagent.runs.journal import Journal, read_journal
from tests.runs.limited import with_limit


def _write(path: Path, count: int) -> list[bytes]:
    with Journal(path) as journal:
        for step in range(len(journal.records), count):
            journal.append({"step": step, "rewards": [0.1 * step, math.nan], "seed": 2**64 - 1 - step})
    return path.read_bytes().splitlines(keepends=True)


def test_records_come_back_and_later_ones_are_chained_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    _write(path, 2)
    lines = _write(path, 4)
    records = read_journal(path)
    assert [r["step"] for r in records] == [0, 1, 2, 3]
    assert records[3]["rewards"][0] == 0.1 * 3
    assert math.isnan(records[3]["rewards"][1])
    assert records[3]["seed"] == 2**64 - 4
    bodies = [json.loads(line) for line in lines]
    assert bodies[0]["previous"] == "0" * 64
    assert [b["previous"] for b in bodies[1:]] == [b["checksum"] for b in bodies[:-1]]


def test_records_in_memory_equal_those_on_disk(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.append({"step": 0, "a": (1, 2), 7: {"b"}})
        assert journal.records == read_journal(tmp_path / "j") == [{"step": 0, "a": [1, 2], "7": ["b"]}]


def test_a_missing_journal_is_empty(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "none") == []


@pytest.mark.parametrize("step", [1, None, -1])
def test_only_the_next_step_can_follow(tmp_path: Path, step: int | None) -> None:
    with Journal(tmp_path / "j") as journal, pytest.raises(RunError, match="cannot follow 0 records"):
        journal.append({"step": step})


def test_a_tail_torn_at_any_byte_is_dropped_and_written_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "j"
    lines = _write(path, 3)
    sound = lines[0] + lines[1]
    for cut in range(1, len(lines[2])):
        path.write_bytes(sound + lines[2][:cut])
        caplog.clear()
        assert len(read_journal(path)) == 2
        assert "last line is dropped" in caplog.text
        assert caplog.records[0].levelno == logging.WARNING
    Journal(path).close()
    assert path.read_bytes() == sound
    assert _write(path, 3) == lines


@pytest.mark.parametrize("tail", [b"\0" * 300, b"\0" * 300 + b"\n", b"{}\n", b"[1]\n", b"\xff\r\n", b"\n"])
def test_junk_as_last_line_is_dropped(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "j"
    sound = b"".join(_write(path, 2))
    path.write_bytes(sound + tail)
    with Journal(path) as journal:
        assert len(journal.records) == 2
    assert path.read_bytes() == sound


def test_every_changed_byte_further_up_is_found(tmp_path: Path) -> None:
    path = tmp_path / "j"
    lines = _write(path, 3)
    for at in range(len(lines[1]) - 1):  # without its line end it would run into the last line, and both be done again
        damaged = bytearray(lines[1])
        damaged[at] ^= 0x01
        path.write_bytes(lines[0] + bytes(damaged) + lines[2])
        with pytest.raises(RunError, match="line 2 of"):
            read_journal(path)


def test_lines_lost_doubled_or_swapped_are_found(tmp_path: Path) -> None:
    path = tmp_path / "j"
    a, b, c = _write(path, 3)
    for wrong, line in (([a, c], 2), ([b, c], 1), ([a, b, b], 3), ([a, c, b], 2), ([a, a, b, c], 2)):
        path.write_bytes(b"".join(wrong))
        with pytest.raises(RunError, match=f"line {line} of {len(wrong)}: it is of step"):
            read_journal(path)


def test_a_record_of_another_run_is_found(tmp_path: Path) -> None:
    lines = _write(tmp_path / "j", 3)
    with Journal(tmp_path / "other") as other:
        for step in range(3):
            other.append({"step": step})
    stranger = (tmp_path / "other").read_bytes().splitlines(keepends=True)[2]
    (tmp_path / "j").write_bytes(lines[0] + lines[1] + stranger)
    with pytest.raises(RunError, match="line 3 of 3: it does not follow the line before it"):
        read_journal(tmp_path / "j")


def _fill(path: Path) -> None:
    with Journal(path) as journal:
        for step in range(1000):
            journal.append({"step": step, "rewards": [0.5] * 30})


def test_a_full_disk_keeps_whole_records_only(tmp_path: Path) -> None:
    path = tmp_path / "j"
    text = with_limit(_fill, 5000, path)
    assert text.startswith(f"EnvironmentFailure: cannot write {path}: "), text
    data = path.read_bytes()
    assert data.endswith(b"\n")
    assert len(data) > 4000
    assert len(read_journal(path)) == data.count(b"\n")
