from pathlib import Path

import pytest

from esagent.core.episode import Completion, Episode, Score, Task, ToolCall, ToolResult, ToolSpec, Trajectory, Turn
from esagent.errors import RunError
from esagent.runs.episodes import evaluation_file, read_episodes, step_file, write_episodes

TASK = Task("t1", "toolbox", "pool", "2+2?", (ToolSpec("calculator", "adds", {}),), {"answer": "4"})


def _episode(member: int) -> Episode:
    turn = Turn("caller", "call", Completion("add(2\ud800,2)", "length"), ToolCall("calculator"), ToolResult(True, "4"))
    return Episode(TASK, member, Trajectory((turn,), "4", ("add",)), Score(1.0, {"caller": 1.0}, "right", True))


def test_episodes_come_back(tmp_path: Path) -> None:
    path = step_file(tmp_path, 4)
    assert path.name == "step-000004.jsonl.zst"
    assert evaluation_file(tmp_path, 4, "pool").name == "eval-000004-pool.jsonl.zst"
    write_episodes(path, [_episode(0), _episode(1)])
    first, second = read_episodes(path)
    assert (first["member"], second["member"]) == (0, 1)
    assert first["task"]["tools"] == ["calculator"]
    assert first["task"]["content_hash"] == TASK.content_hash
    assert first["turns"][0]["completion"]["text"] == "add(2\ud800,2)"
    assert first["turns"][0]["result"] == {"ok": True, "output": "4"}
    assert first["score"]["signals"] == {"caller": 1.0}


def test_they_are_compressed(tmp_path: Path) -> None:
    write_episodes(tmp_path / "e", [_episode(i) for i in range(200)])
    assert (tmp_path / "e").stat().st_size < 4000


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "e"
    write_episodes(path, [_episode(i) for i in range(20)])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(RunError, match="e is damaged"):
        list(read_episodes(path))
    path.write_bytes(b"")
    assert list(read_episodes(path)) == []
