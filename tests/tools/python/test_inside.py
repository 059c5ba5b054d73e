"""The parts that run inside: the split of the last line, the system call filter, the limits."""

from __future__ import annotations

import ast
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.tools.python import Limits, make_sandbox
from esagent.tools.python.inside import seccomp
from esagent.tools.python.inside.lastline import split
from tests.tools.python.installed import lacking

needs_bwrap = pytest.mark.skipif(bool(lacking("bwrap")), reason=lacking("bwrap") or "runs here")


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("", ("", "")),
        ("x = 1", ("x = 1", "")),
        ("x", ("", "x")),
        ("a = 'é'; 'ü'; b  # c", ("a = 'é'; 'ü'; ", "b")),
        ("a\n(b +\n c)\n\n", ("a\n", "(b +\n c)")),
        ("if a:\n    b", ("if a:\n    b", "")),
        ("a\r\nb;", ("a\n", "b")),
        ("def (", None),
        ("\0", None),
        ("(" * 5000, None),
    ],
)
def test_split(code: str, parts: tuple[str, str] | None) -> None:
    assert split(code) == parts


words = st.sampled_from(["x", "é", "(1,\n 2)", "'a;b'", '"""t\nü"""', "x = 1", "f(x)  # é", "[x for x in y]", "pass"])


@given(st.lists(words, max_size=6), st.sampled_from(["\n", "; ", "\n\n"]))
def test_split_loses_nothing(statements: list[str], joint: str) -> None:
    code = joint.join(statements)
    try:
        tree = ast.parse(code)
    except SyntaxError:
        assert split(code) is None
        return
    parts = split(code)
    assert parts is not None
    before, last = parts
    whole = ast.parse(f"{before}({last})") if last else ast.parse(before)
    assert ast.dump(whole) == ast.dump(tree)
    assert bool(last) == bool(tree.body and isinstance(tree.body[-1], ast.Expr))


def _verdict(program: bytes, number: int, arch: int, argument: int = 0) -> int:
    """What a filter returns for one system call: an interpreter of the few instructions it is made of."""
    data = struct.pack("<IIQ6Q", number, arch, 0, argument, 0, 0, 0, 0, 0)
    steps = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        else:
            taken = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            at += yes if taken else no


@pytest.mark.parametrize("machine", sorted(seccomp.ARCHITECTURES))
def test_the_filter(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.os, "uname", lambda: type("Name", (), {"machine": machine}))
    program = seccomp.program()
    column, arch, clone = seccomp.ARCHITECTURES[machine]
    refused = {numbers[column] for numbers in seccomp.REFUSED.values()}
    for number in range(470):
        otherwise = 0x00050026 if number == 435 else 0x7FFF0000
        assert _verdict(program, number, arch) == (0x00050001 if number in refused else otherwise)
    assert _verdict(program, clone, arch, 0x11) == 0x7FFF0000
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert _verdict(program, clone, arch, 0x11 | flag) == 0x00050001
    assert _verdict(program, 0, arch ^ 1) == 0x80000000
    assert _verdict(program, 0x40000000, arch) == 0x80000000


def test_a_machine_without_a_filter_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.os, "uname", lambda: type("Name", (), {"machine": "riscv64"}))
    with pytest.raises(OSError, match="no system call filter for riscv64"):
        seccomp.program()


@needs_bwrap
def test_the_kernel_refuses_them() -> None:
    numbers = {name: pair for name, pair in seccomp.REFUSED.items() if name != "reboot"}
    code = (
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"column = {{'x86_64': 0, 'aarch64': 1}}[os.uname().machine]\nfor name, pair in {numbers}.items():\n"
        "    if libc.syscall(pair[column], 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1: print(name)"
    )
    sandbox = make_sandbox("bwrap")
    outcome = sandbox.run(code)
    sandbox.close()
    assert (outcome.ok, outcome.output) == (True, "")


@needs_bwrap
def test_no_capability_and_nothing_of_this_machine() -> None:
    sandbox = make_sandbox("bwrap", Limits(output_chars=20_000))
    code = (
        "import os\nfound = []\nfor top, folders, files in os.walk('/'):\n"
        "    if top.startswith(('/usr/lib', '/lib', '/sandbox', '/dev')) or '/lib/python3' in top: continue\n"
        "    found += [os.path.join(top, f) for f in files]\nprint(*found, sep='\\n')"
    )
    seen = sandbox.run(code).output.split()
    writable = sandbox.run(
        "import os\nprint(*{top for top, _, _ in os.walk('/') if os.access(top, os.W_OK)}, sep='\\n')"
    ).output.split()
    packages = sandbox.run("import os\nprint(sorted(os.listdir('/sandbox/packages')), os.listdir('/proc'))").output
    capabilities = sandbox.run(
        "import ctypes\nlibc = ctypes.CDLL(None)\nh = (ctypes.c_uint32 * 2)(0x20080522, 0)\n"
        "d = (ctypes.c_uint32 * 6)()\nprint(libc.capget(h, d), list(d))"
    ).output
    sandbox.close()
    assert all("python3" in path or ".so" in path for path in seen), seen
    assert writable == ["/tmp"]
    assert "numpy" in packages
    assert packages.endswith("[]\n")
    assert "pydantic" not in packages
    assert capabilities == "0 [0, 0, 0, 0, 0, 0]\n"
