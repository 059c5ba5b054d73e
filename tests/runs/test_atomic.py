import json
import os
from pathlib import Path

import pytest

from esagent.errors import EnvironmentFailure
from esagent.runs.atomic import remove_leftovers, replacing, write_bytes, write_json, write_text
from tests.runs.limited import with_limit


def test_content_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "ü")
    write_json(tmp_path / "a", {"x": [1, float("nan")]})
    assert json.loads((tmp_path / "a").read_text()) == {"x": [1, None]}
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_an_error_while_writing_keeps_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "a.safetensors"
    target.write_text("old")

    def fail(temporary: Path) -> None:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".safetensors"
        temporary.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), replacing(target) as temporary:
        fail(temporary)
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    text = with_limit(write_bytes, 1000, tmp_path / "a", b"x" * 5000)
    assert text == f"EnvironmentFailure: cannot write {tmp_path / 'a'}: File too large"
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_space_says_what_to_do(tmp_path: Path) -> None:
    with (
        pytest.raises(EnvironmentFailure, match="No space left on device; free some space"),
        replacing(tmp_path / "a"),
    ):
        Path("/dev/full").write_bytes(b"x")
    assert not (tmp_path / "a").exists()


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"cannot write .*/no/a: No such file"):
        write_text(tmp_path / "no" / "a", "x")


def test_leftovers_are_cleared_and_nothing_else(tmp_path: Path) -> None:
    for name in (".tmp-12-a", "a", "tmp-b"):
        (tmp_path / name).write_text("")
    (tmp_path / ".tmp-13-export").mkdir()  # the draft of a folder is its own writer's
    assert [p.name for p in remove_leftovers(tmp_path)] == [".tmp-12-a"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [".tmp-13-export", "a", "tmp-b"]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_the_mode_follows_the_umask_whoever_writes(tmp_path: Path, umask: int) -> None:
    def write_for_the_owner_alone(path: Path) -> None:
        path.unlink()
        path.touch(mode=0o600)

    before = os.umask(umask)
    try:
        write_text(tmp_path / "own", "x")
        with replacing(tmp_path / "other") as temporary:
            write_for_the_owner_alone(temporary)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o666 & ~umask}


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EnvironmentFailure, match=r"cannot write .*pipe: there is something that is no file"):
        write_text(tmp_path / "pipe", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_name_too_long_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"cannot write .*: File name too long"):
        write_text(tmp_path / ("x" * 300), "x")
