import io
import os
import subprocess
import sys

import pytest

from esagent.core.ledger import Limit
from esagent.report.console import Progress, print_summary
from esagent.report.text import amount, duration, number, per_module
from tests.report.conftest import SUMMARY

WORK = """
import sys
from esagent.core.ledger import Limit
from esagent.report.console import Progress
limit = Limit("steps", 2, 12, 8)
with Progress(limit, ["planner", "caller"], json_mode=len(sys.argv) > 1) as progress:
    progress.phase("loading model")
    progress.evaluation(0, "pool", 0.25)
    progress.step([1.0], 0.3, 0.05, {"caller": 0.5, "planner": 1.0}, {"caller": 6, "planner": 6}, 843.2, 125.0)
    print('{"data": 1}')
"""


def _line(text: str) -> list[str]:
    return [line.split("] ", 1)[1] for line in text.splitlines()]


def test_plain_lines_when_not_a_terminal() -> None:
    stream = io.StringIO()
    with Progress(Limit("steps", 4, 12, 8), ["planner", "caller"], stream=stream) as progress:
        progress.phase("evaluating base on pool")
        progress.evaluation(0, "pool", 0.25)
        progress.step([1.0], 0.3, 0.05, {"caller": 0.5, "planner": 1.0}, {"caller": 6, "planner": 6}, 843.2, 125.0)
        progress.step([1.0, 1.0], float("nan"), 0.0, {"planner": 1.0}, {"planner": 6}, 0.0, None)
    assert _line(stream.getvalue()) == [
        "evaluating base on pool",
        "after step 0: pool reward 0.250",
        "step 1/4  reward 0.300 ± 0.050  sigma planner 1 caller 0.5  directions 6 each  speed 843 tokens/s"
        "  left 2m 05s",
        "step 2/4  reward - ± 0.000  sigma planner 1  directions planner 6  speed 0 tokens/s  left -",
    ]


def test_another_budget_shows_its_share() -> None:
    stream = io.StringIO()
    with Progress(Limit("tokens", 2e6, 12, 8), ["planner"], stream=stream) as progress:
        progress.step([4e5, 3e5], 0.3, 0.05, {"planner": 1.0}, {"planner": 6}, 843.2, 125.0)
    (line,) = _line(stream.getvalue())
    assert line.startswith("step 2, 35% of 2.0M tokens  reward 0.300")


def test_stdout_is_left_to_data() -> None:
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True)
    assert done.stdout == '{"data": 1}\n'
    assert len(done.stderr.splitlines()) == 3


def _in_terminal(*arguments: str) -> tuple[str, str]:
    """What a child prints on a real pseudo-terminal (its stderr) and on a pipe (its stdout)."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-c", WORK, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True) as child:
        os.close(theirs)
        seen = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            seen += chunk
        os.close(ours)
        output, _ = child.communicate(timeout=30)
    return seen.decode(), output


def test_a_terminal_gets_a_display_that_updates() -> None:
    screen, output = _in_terminal()
    assert output == '{"data": 1}\n'
    assert "after step 0: pool reward 0.250" in screen
    assert "\x1b[?25l" in screen, "the cursor is hidden while the display is live"
    assert screen.rindex("\x1b[?25h") > screen.rindex("\x1b[?25l"), "and shown again at the end"
    assert "step 1/2" in screen
    assert "843 tokens/s" in screen


def test_json_mode_keeps_a_terminal_plain() -> None:
    screen, _ = _in_terminal("--json")
    assert "\x1b" not in screen
    assert "step 1/2  reward 0.300" in screen


def test_the_summary_says_all_that_matters(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary({**SUMMARY, "overrides": ["task.level=medium", "seed=0"]})
    out, err = capsys.readouterr()
    assert err == ""
    assert _cells(out, "training pool") == ["64", "0.310", "0.550", "+0.240", "[+0.170, +0.310]"]
    assert _cells(out, "held-out") == ["128", "0.250", "0.200", "-0.050", "[-0.110, +0.010]"]
    assert _cells(out, "planner") == ["0.400 → 0.650"]
    for fact in (
        "4m 05s",
        "843 tokens/s",
        "1.3M tokens, 1.2M spent, 90.0k more on a step that did not fit",
        "9,216 episodes, 1.2M tokens (1.0M shared), 35.4T FLOPs, 3m 10s",
        "300 episodes, 42.0k tokens (- shared), - FLOPs, 20s",
        "330.0T at 2 P a token asked for, 220.0T at 2 P L; GRPO 880.0T at 8 P L",
        "peak memory 2.1 GB",
        "free text",
        "after step 12 of 16",
    ):
        assert fact in " ".join(out.split()), "a long line is folded"
    assert "runs/my study/20261130-124500-s0/curve.svg" in out
    run = "'runs/my study/20261130-124500-s0'"
    for command in (f"show {run} --html", f"show {run} --episode 0", f"eval {run} --k 8"):
        assert f"esagent {command} " in out
    assert "esagent train task.level=medium seed=1 " in out
    assert "esagent train --multirun task.level=medium seed=1,2,3 " in out


def _cells(out: str, label: str) -> list[str]:
    (row,) = [line for line in out.splitlines() if line.startswith(f"│ {label}")]
    return [cell.strip() for cell in row.strip("│").split("│")][1:]


def test_missing_parts_and_missing_intervals() -> None:
    stream = io.StringIO()
    print_summary({"pool": {"base": 0.5, "trained": 0.5, "gain": 0.0, "gain_interval": [None, None], "n": 1}}, stream)
    assert _cells(stream.getvalue(), "training pool") == ["1", "0.500", "0.500", "+0.000", "[-, -]"]
    assert "held-out" not in stream.getvalue()
    print_summary({}, io.StringIO())


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0s"), (59.6, "1m 00s"), (3599.6, "1h 00m"), (11400, "3h 10m"), (None, "-"), (-1, "0s")]
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_numbers() -> None:
    assert (number(0.12345), number(0.1, signed=True), number(None), number(float("inf"))) == (
        "0.123",
        "+0.100",
        "-",
        "-",
    )
    assert [amount(v) for v in (999.6, 9999, 12_345, 1.5e6, 2e9, 3e13, None)] == [
        "1000", "9999", "12.3k", "1.5M", "2.0G", "30.0T", "-",
    ]  # fmt: skip
    assert per_module({"a": 1.0, "b": 1.0}) == "1 each"
    assert per_module({"a": 1.0}) == "a 1"
    assert per_module({}) == "-"
