from __future__ import annotations

import io
from pathlib import Path

from esagent.sweep.follow import Follower, last_message


def test_whole_new_lines_of_interest_are_shown_once(tmp_path: Path) -> None:
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    stream = io.StringIO()
    follower = Follower({first: "A", second: "B"}, stream)
    follower.show()
    first.write_text("$ command\n[ 1s] step 1\n[ 2s] st")
    second.write_text("esagent: it broke\n| a table |\n")
    follower.show()
    assert stream.getvalue() == "A: [ 1s] step 1\nB: esagent: it broke\n"
    with first.open("a") as log:
        log.write("ep 2\n")
    follower.show()
    follower.show()
    assert stream.getvalue().splitlines()[2:] == ["A: [ 2s] step 2"]


def test_the_last_message(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("esagent: first\nesagent: second\nTraceback\n")
    assert last_message(log) == "second"
    log.write_text("[1s] step\n")
    assert last_message(log) == ""
