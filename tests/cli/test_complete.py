"""Shell completion of commands, options, groups, settings, values and runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from esagent.cli.main import main

ENVIRONMENT = ("_ESAGENT_COMPLETE", "COMP_WORDS", "COMP_CWORD", "_TYPER_COMPLETE_ARGS")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "")
    for run in ("default/20270101-000000-s0", "default/20270102-000000-s1", "other/20260101-000000-s0"):
        (tmp_path / "runs" / run).mkdir(parents=True)
        (tmp_path / "runs" / run / "config.yaml").write_text("")
    for evaluation in ("default/20270102-000000-s1/evals/20270103-000000-pool", "eval/20270104-000000-heldout"):
        (tmp_path / "runs" / evaluation).mkdir(parents=True)
        (tmp_path / "runs" / evaluation / "eval.json").write_text("{}")
    (tmp_path / "mine" / "budget").mkdir(parents=True)
    (tmp_path / "mine" / "budget" / "huge.yaml").write_text("steps: 9\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bash(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *pieces: str) -> list[str]:
    """What bash is offered for the last of `pieces`, which it broke at = and :."""
    monkeypatch.setenv("_ESAGENT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(("esagent", *pieces)))
    monkeypatch.setenv("COMP_CWORD", str(len(pieces)))
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 0
    return capsys.readouterr().out.split()


CASES: list[tuple[tuple[str, ...], list[str]]] = [
    (("ex",), ["export"]),
    (("train", "--d"), ["--dry-run"]),
    (("train", "alg"), ["algorithm="]),
    (("train", "space.po"), ["space.positions=all", "space.positions=answer"]),
    (("train", "space.pa"), ["space.partition=", "space.parts="]),
    (("train", "seed"), ["seed="]),
    (("train", "budget", "="), ["default", "episodes", "flops", "quick", "seconds", "steps", "tokens"]),
    (("train", "budget", "=", "q"), ["quick"]),
    (
        ("train", "--config-dir", "mine", "budget", "="),
        ["default", "episodes", "flops", "huge", "quick", "seconds", "steps", "tokens"],
    ),
    (("train", "seed", "=", "1", "budget", "=", "d"), ["default"]),
    (("train", "space.positions", "="), ["all", "answer"]),
    (("train", "backend.draft", "=", "t"), ["true"]),
    (("train", "budget.steps", "="), []),
    (("train", "nonsense", "="), []),
    (("train", "task.target", "=", "a", ":", "b"), []),
    (
        ("train", "init", "="),
        ["latest", "default/20270102-000000-s1", "default/20270101-000000-s0", "other/20260101-000000-s0"],
    ),
    (("resume", "o"), ["other/20260101-000000-s0"]),
    (("export", "la"), ["latest"]),
    (("export", "latest", "--format", ""), ["peft", "hf", "hooks"]),
    (("export", "latest", "--state", "b"), ["best"]),
    (("eval", "de"), ["default/20270102-000000-s1", "default/20270101-000000-s0"]),
    (("eval", "spl"), ["split="]),
    (("eval", "split", "="), ["pool", "validation", "heldout", "test"]),
    (("eval", "latest", "state", "=", "l"), ["last"]),
    (("eval", "latest", "la"), []),
    (("eval", "latest", "space"), []),
    (("eval", "latest", "task.lev"), ["task.level="]),
    (("eval", "space.pos"), ["space.positions=all", "space.positions=answer"]),
    (("eval", "latest", "task", "=", "js"), ["jsonl"]),
    (("eval", "latest", "--state", "b"), ["best"]),
    (("eval", "latest", "--split", "h"), ["heldout"]),
    (("ls", "ta"), ["tasks"]),
    (("ls", "ru"), ["runs/"]),
    (("ls", "runs/d"), ["runs/default/"]),
    (("show", "task", "=", "to"), ["toolbox"]),
    (("show", "task", "=", "qa", "spl"), ["split="]),
    (("show", "task", "=", "qa", "split", "="), ["train", "validation", "heldout", "test"]),
    (("show", "task", "=", "qa", "task.lev"), ["task.level="]),
    (("show", "task", "=", "qa", "lat"), []),
    (("show", "ta"), ["task="]),
    (("show", "lat"), ["latest"]),
    (("show", "ev"), ["eval/20270104-000000-heldout"]),
    (("show", "latest", "--episode", "0", "--eval", ""), ["latest", "20270103-000000-pool"]),
    (("show", "20270102-000000-s1", "--eval", "2"), ["20270103-000000-pool"]),
    (("show", "runs/default/20270102-000000-s1", "--eval", "l"), ["latest"]),
    (("show", "other/20260101-000000-s0", "--eval", ""), []),
    (("show", "latest", "--agent", "t"), ["trained"]),
    (("show", "latest", "--split", "v"), ["validation"]),
    (("stats", "d"), ["default", "default/20270102-000000-s1", "default/20270101-000000-s0"]),
    (("stats", "default", "--metric", "h"), ["heldout"]),
]


@pytest.mark.parametrize(("pieces", "offered"), CASES, ids=[" ".join(case[0]) for case in CASES])
def test_bash(
    pieces: tuple[str, ...],
    offered: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = bash(capsys, monkeypatch, *pieces)
    if pieces == ("train", "alg"):  # several keys begin alike
        assert found[0] == "algorithm="
        assert all(key.startswith("algorithm.") for key in found[1:])
        assert len(found) > 5
    else:
        assert found == offered


def test_zsh_gets_whole_words(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ESAGENT_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "esagent train budget=q")
    with pytest.raises(SystemExit):
        main([])
    assert '"budget=quick"' in capsys.readouterr().out


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_the_script_works_in_a_real_bash(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "esagent"
    program.parent.mkdir()
    program.write_text(f'#!/bin/bash\nexec "{sys.executable}" -m esagent "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(_ESAGENT_COMPLETE=source_bash esagent)"; complete -p esagent; '
        'COMP_WORDS=(esagent train model = smo); COMP_CWORD=4; _esagent_completion esagent; echo "${COMPREPLY[@]}"'
    )
    environment = {k: v for k, v in os.environ.items() if k not in ENVIRONMENT}
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    registered, offered = done.stdout.splitlines()
    assert "-F _esagent_completion esagent" in registered
    assert offered.split() == ["smollm2-1.7b", "smollm2-135m"]


def test_completing_loads_nothing_heavy() -> None:
    code = (
        "import sys, esagent.cli.main as m\ntry:\n    m.main([])\nexcept SystemExit:\n    pass\n"
        "print([n for n in ('torch', 'hydra', 'omegaconf', 'numpy') if n in sys.modules], file=sys.stderr)"
    )
    words = {"_ESAGENT_COMPLETE": "complete_bash", "COMP_WORDS": "esagent\ntrain\nmodel\n=", "COMP_CWORD": "3"}
    environment = {k: v for k, v in os.environ.items() if k not in ENVIRONMENT} | words
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "smollm2-135m" in done.stdout
    assert done.stderr == "[]\n"
