"""python(code) as a tool of an agent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from esagent.tools.base import Tool
from esagent.tools.python import Limits, SandboxError, make_python, make_sandbox
from esagent.tools.python.tool import NOTHING, program


@pytest.fixture(scope="module")
def tool() -> Iterator[Tool]:
    limits = Limits(seconds=3, output_chars=1000)
    sandbox = make_sandbox("monty", limits)
    yield make_python(sandbox, limits.output_chars)
    sandbox.close()


@pytest.mark.parametrize(
    ("code", "ok", "output"),
    [
        ("print(6 * 7)", True, "42"),
        ("x = 6\nx * 7", True, "42"),
        ("```python\n6 * 7\n```", True, "42"),
        ("```\n6 * 7```", True, "42"),
        ("x = 1", True, NOTHING),
        ("print('x' * 900)", True, "x" * 900),
        ("print(1)\n1 / 0", False, "python: 1\nZeroDivisionError: division by zero (line 2)"),
    ],
)
def test_calls(tool: Tool, code: str, ok: bool, output: str) -> None:
    result = tool.run({"code": code})
    assert (result.ok, result.output) == (ok, output)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({}, "missing argument code"),
        ({"code": 5}, "'5' is not a program"),
        ({"code": "1", "x": 1}, "unexpected argument"),
    ],
)
def test_mistakes(tool: Tool, arguments: dict, part: str) -> None:
    result = tool.run(arguments)
    assert not result.ok
    assert part in result.output


def test_equal_programs_are_the_same_argument() -> None:
    assert program("```py\nx\n```\n") == program("x\n") == "x"
    assert program("x") != program("y")
    assert program(" x") == " x"


def test_the_spec_names_one_text(tool: Tool) -> None:
    assert tool.spec.parameters["required"] == ["code"]
    assert tool.spec.parameters["properties"]["code"]["type"] == "string"


def test_a_failed_sandbox_is_not_the_models_mistake() -> None:
    sandbox = make_sandbox("monty")
    sandbox.close()
    with pytest.raises(SandboxError):
        make_python(sandbox, 100).run({"code": "1"})
