"""What every kind of sandbox promises beside containment, and what happens when one fails itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from esagent.errors import ConfigError, EnvironmentFailure
from esagent.tools.python import Limits, Outcome, PythonSandbox, SandboxError, bwrap, make_sandbox, monty
from esagent.tools.python.base import MAX_CODE
from esagent.tools.python.worker import Worker
from tests.tools.python.installed import kinds

LIMITS = Limits(seconds=5, memory_mb=64, output_chars=500)


@pytest.fixture(scope="module", params=kinds())
def sandbox(request: pytest.FixtureRequest) -> Iterator[PythonSandbox]:
    made = make_sandbox(request.param, LIMITS)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("", ""),
        ("1 + 1", "2\n"),
        ("'a'", "'a'\n"),
        ("None", ""),
        ("print(3)", "3\n"),
        ("x = 5", ""),
        ("x = 5; x", "5\n"),
        ("x = 5\nx * 2  # twice\n\n", "10\n"),
        ("(1,\n 2)", "(1, 2)\n"),
        ("'é' * 2 + 'ü'", "'ééü'\n"),
        ("s = 'ß'; s.upper()", "'SS'\n"),
        ("1, 2", "(1, 2)\n"),
        ("if True:\n    7", ""),
        ("for i in range(3): print(i)", "0\n1\n2\n"),
        ("print('a', end='')\n4", "a4\n"),
        ("x = 1\r\nx\r\n", "1\n"),
        ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nf(20)", "2432902008176640000\n"),
        ("raise SystemExit", ""),
        ("print('x' * 499)", "x" * 499 + "\n"),
    ],
)
def test_runs_like_a_repl(sandbox: PythonSandbox, code: str, output: str) -> None:
    assert sandbox.run(code) == Outcome(True, output, "")


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (line 1)"),
        ("print(1)\n\nint('a')", "1\nValueError: invalid literal for int() with base 10: 'a' (line 3)"),
        ("print('a', end='')\n1 / 0", "a\nZeroDivisionError: division by zero (line 2)"),
        ("def f():\n    return 1 / 0\n\nf()", "ZeroDivisionError: division by zero (line 2)"),
        ("x", "NameError: name 'x' is not defined (line 1)"),
        ("raise ValueError", "ValueError (line 1)"),
        ("raise ValueError('a\\n\\nb')", "ValueError: a b (line 1)"),
    ],
)
def test_an_error_ends_in_one_line(sandbox: PythonSandbox, code: str, output: str) -> None:
    assert sandbox.run(code) == Outcome(False, output, "error")


@pytest.mark.parametrize("code", ["def (", "1 +", "x = '", "\0", "\ud800", "if 1:\npass", "yield 1"])
def test_what_is_no_program_is_an_error(sandbox: PythonSandbox, code: str) -> None:
    outcome = sandbox.run(code)
    assert (outcome.ok, outcome.reason) == (False, "error")
    assert len(outcome.output.splitlines()) == 1


def test_output_is_cut_at_the_limit(sandbox: PythonSandbox) -> None:
    outcome = sandbox.run("print('ab' * 250 + 'c')")
    assert outcome == Outcome(False, "ab" * 250 + "\nstopped: it printed more than 500 characters", "output")


def test_a_long_error_is_cut(sandbox: PythonSandbox) -> None:
    outcome = sandbox.run("raise ValueError('x' * 1000)")
    assert len(outcome.output) < 330
    assert outcome.output.endswith("... (line 1)")


def test_a_program_that_is_too_long_is_refused(sandbox: PythonSandbox) -> None:
    assert sandbox.run("#" * MAX_CODE).ok
    assert sandbox.run("#" * (MAX_CODE + 1)).reason == "refused"


def test_nothing_of_a_program_reaches_the_next(sandbox: PythonSandbox) -> None:
    first = "import math\nmath.pi = 3\nseen = 1\nmath.pi"
    if sandbox.name != "monty":
        first += "\nopen('left', 'w').write('x')\nimport os, random\nos.environ['A'] = 'b'\nrandom.seed(7)"
    sandbox.run(first)
    assert sandbox.run("import math\nmath.pi").output == "3.141592653589793\n"
    assert sandbox.run("seen").reason == "error"
    if sandbox.name != "monty":
        assert sandbox.run("import os\nprint(os.listdir('.'), os.environ.get('A'))").output == "[] None\n"


def test_random_numbers_are_the_same_every_time(sandbox: PythonSandbox) -> None:
    code = "import random\nprint(random.random(), random.randint(1, 10 ** 9))"
    outcomes = {sandbox.run(code) for _ in range(3)}
    assert len(outcomes) == 1
    assert outcomes.pop().ok


@pytest.mark.parametrize("kind", kinds())
def test_the_callers_environment_is_not_there(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESAGENT_TEST_SECRET", "hunter2")
    sandbox = make_sandbox(kind, LIMITS)
    outcome = sandbox.run("import os\nprint(dict(os.environ))")
    sandbox.close()
    assert "hunter2" not in outcome.output
    assert outcome.ok == (kind != "monty")


@pytest.mark.parametrize("kind", [k for k in kinds() if k.values != ("monty",)])
def test_numpy_and_sympy(kind: str) -> None:
    sandbox = make_sandbox(kind, Limits(seconds=10))
    try:
        code = "import sympy\nx = sympy.symbols('x')\nprint(sympy.solve(x ** 2 - 2))"
        assert sandbox.run(code) == Outcome(True, "[-sqrt(2), sqrt(2)]\n")
        code = "import numpy as np\nnp.random.rand(2, 2).sum(), int(np.arange(10).sum())"
        assert sandbox.run(code) == sandbox.run(code)
        assert sandbox.run("import numpy as np\nnp.zeros(10 ** 9)").reason == "memory"
        assert sandbox.run("np = __import__('num' + 'py')\nint(np.arange(10).sum())") == Outcome(True, "45\n")
    finally:
        sandbox.close()


def test_several_threads_get_their_own_answers(sandbox: PythonSandbox) -> None:
    answers: dict[int, str] = {}

    def ask(n: int) -> None:
        answers[n] = sandbox.run(f"print({n})").output

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: f"{n}\n" for n in range(8)}


@pytest.mark.parametrize("kind", kinds())
def test_a_closed_sandbox_is_a_failure_of_the_harness(kind: str) -> None:
    before = _children()
    sandbox = make_sandbox(kind, LIMITS)
    assert _children() - before
    sandbox.close()
    sandbox.close()
    assert not _children() - before
    with pytest.raises(SandboxError, match="is closed"):
        sandbox.run("1")


def test_a_process_killed_from_outside_does_not_fail_the_program() -> None:
    before = _children()
    worker = monty.make(LIMITS)
    worker.start()
    (process,) = _children() - before
    threading.Timer(0.1, lambda: os.kill(process, signal.SIGKILL)).start()
    outcome = worker.run("import time\ntime.sleep(0.3)\n6 * 7")
    worker.close()
    assert outcome == Outcome(True, "42\n")


def test_a_process_killed_late_is_a_failure_of_the_harness() -> None:
    before = _children()
    worker = monty.make(LIMITS)
    worker.start()
    (process,) = _children() - before
    threading.Timer(0.6, lambda: os.kill(process, signal.SIGKILL)).start()
    with pytest.raises(SandboxError, match="its process died"):
        worker.run("import time\ntime.sleep(3)")
    assert worker.run("1") == Outcome(True, "1\n")
    worker.close()


def test_a_program_that_always_kills_its_process_is_to_blame() -> None:
    sandbox = make_sandbox("unsafe", LIMITS)
    outcome = sandbox.run("import os\nopen('left', 'w')\nos.kill(os.getppid(), 9)\nimport time\ntime.sleep(0.3)")
    folder = sandbox.run("import os\nprint(os.getcwd())").output.strip()
    assert os.path.isdir(folder)
    sandbox.close()
    assert not os.path.exists(folder)
    assert (outcome.ok, outcome.reason) == (False, "killed")


class Interruption(Exception):
    pass


def test_an_interrupted_call_does_not_answer_the_next(sandbox: PythonSandbox) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise Interruption

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(Interruption):
            sandbox.run("import time\ntime.sleep(0.5)\nprint('late')")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert sandbox.run("1") == Outcome(True, "1\n")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process can be set on Linux only")
@pytest.mark.parametrize("kind", [k for k in kinds() if k.values != ("monty",)])
def test_a_zygote_that_cannot_fork_is_a_failure_of_the_harness(kind: str) -> None:
    before = set(psutil.Process().children(recursive=True))
    sandbox = make_sandbox(kind, LIMITS)
    started = set(psutil.Process().children(recursive=True)) - before
    for process in started:
        process.rlimit(psutil.RLIMIT_NOFILE, (4, 4))
    with pytest.raises(SandboxError, match="Too many open files"):
        sandbox.run("1")
    sandbox.close()


def test_a_process_that_hangs_is_killed() -> None:
    answer = (
        "import socket, time; s = socket.socket(fileno=0); s.sendall(b'\\0\\0\\0\\x0c{\"ready\": 1}'); time.sleep(99)"
    )
    worker = Worker("hung", lambda limits: [sys.executable, "-c", answer], Limits(seconds=0.1))
    worker.start()
    start = time.monotonic()
    assert worker.run("1").reason == "time"
    assert time.monotonic() - start < 1.1
    worker.close()


def test_what_does_not_start_says_why() -> None:
    worker = Worker("odd", lambda limits: [sys.executable, "-c", "raise SystemExit('no wall')"], LIMITS)
    with pytest.raises(SandboxError, match=r"^python sandbox 'odd' does not start: no wall$"):
        worker.start()
    worker = Worker("odd", lambda limits: ["/no/such/program"], LIMITS)
    with pytest.raises(SandboxError, match=r"does not start: .*no/such/program"):
        worker.start()


@pytest.mark.kill
@pytest.mark.parametrize("kind", kinds())
def test_a_killed_caller_leaves_nothing_behind(kind: str) -> None:
    code = (
        "import os, signal, threading\nfrom esagent.tools.python import Limits, make_sandbox\n"
        f"sandbox = make_sandbox({kind!r}, Limits(seconds=1))\n"
        "threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()\n"
        "print('ready', flush=True)\nsandbox.run('while True: pass')"
    )
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
        process.wait()
    gone, alive = psutil.wait_procs(started, timeout=3)
    assert gone
    assert not alive


def test_auto_is_monty() -> None:
    sandbox = make_sandbox()
    sandbox.close()
    assert sandbox.name == "monty"


def test_auto_is_never_unsafe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monty, "missing", lambda: "pydantic-monty is not installed")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFailure, match=r"pydantic-monty.*; bubblewrap.*'unsafe'"):
        make_sandbox()
    with pytest.raises(EnvironmentFailure, match="python sandbox 'bwrap': bubblewrap"):
        make_sandbox("bwrap")
    with pytest.raises(EnvironmentFailure, match="python sandbox 'monty': pydantic-monty"):
        make_sandbox("monty")


def test_auto_takes_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    if bwrap.missing():
        pytest.skip(bwrap.missing())
    monkeypatch.setattr(monty, "missing", lambda: "pydantic-monty is not installed")
    sandbox = make_sandbox()
    sandbox.close()
    assert sandbox.name == "bwrap"


def test_bad_usage_is_told_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"there is no 'mounty'; there are auto, monty, bwrap, unsafe"):
        make_sandbox("mounty")
    with pytest.raises(ConfigError) as error:
        make_sandbox("monty", Limits(seconds=float("inf"), memory_mb=0))
    assert len(error.value.problems) == 2


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}
