"""Backend hf: nothing is computed beyond the model's context, and whoever asks for it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from esagent.backends.hf.backend import HFBackend
from esagent.config.schema import BackendConfig, SpaceConfig
from esagent.core.episode import Request
from esagent.errors import ConfigError, RunError
from esagent.rollout import UnscoredError
from esagent.runs.find import list_runs
from esagent.spaces.registry import make_space
from esagent.train import train
from tests.helpers.tiny import HYBRID, make_tiny
from tests.runs.tiny_run import tiny_config

CONTEXT = 40
both = pytest.mark.parametrize("kind", ["llama", HYBRID])


def backend(kind: str = "llama", context: int = CONTEXT) -> HFBackend:
    model, tokenizer = make_tiny(kind)
    model.config.max_position_embeddings = context
    return HFBackend(model, tokenizer, make_space(SpaceConfig(layers="2-3"), model, ["m"]), BackendConfig())


def of_length(tokens: int, **options: object) -> Request:
    """A request whose prompt is so many tokens, for each letter without a neighbour it could merge with is one."""
    return Request("m", ("zq" * tokens)[:tokens], stop=(), **options)  # type: ignore[arg-type]


@both
def test_an_answer_ends_where_the_context_does(kind: str) -> None:
    whole = backend(kind, 2048).generate([of_length(30, max_new_tokens=20)], [])[0]
    assert (whole.stop_reason, whole.completion_tokens) == ("length", 20)
    engine = backend(kind)
    cut, exact = engine.generate([of_length(30, max_new_tokens=n) for n in (20, 10)], [])
    assert (cut.stop_reason, cut.prompt_tokens, cut.completion_tokens) == ("context", 30, 10)
    assert cut.note == "a prompt of 30 tokens and 20 for the answer exceed the model's context of 40"
    assert whole.text.startswith(cut.text)
    assert (exact.stop_reason, exact.completion_tokens, exact.note) == ("length", 10, "")
    assert exact.text == cut.text


@both
@pytest.mark.parametrize("length", [CONTEXT, CONTEXT + 1, 100 * CONTEXT])
def test_a_prompt_that_fills_the_context_is_not_computed_at_all(
    kind: str, length: int, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = backend(kind)
    (told,) = engine.generate([of_length(length, max_new_tokens=4)], [])
    assert (told.text, told.stop_reason, told.prompt_tokens, told.completion_tokens) == ("", "context", 0, 0)
    assert told.note == f"a prompt of {length} tokens and 4 for the answer exceed the model's context of 40"
    assert engine.cost().flops == 0
    assert engine.cost().requests == 0
    fits, told = engine.generate([of_length(5, max_new_tokens=4), of_length(length)], [])
    assert (fits.stop_reason, told.stop_reason) == ("length", "context")
    assert fits == backend(kind).generate([of_length(5, max_new_tokens=4)], [])[0]
    assert "longer than" not in capfd.readouterr().err, "the library warns of what was dealt with"


def test_a_prompt_that_leaves_one_token_gets_it() -> None:
    (last,) = backend().generate([of_length(CONTEXT - 1, max_new_tokens=4)], [])
    assert (last.stop_reason, last.completion_tokens) == ("context", 1)


def test_an_answer_that_ends_in_time_is_like_any_other() -> None:
    free = backend().generate([of_length(30, max_new_tokens=10)], [])[0]
    stop = free.text[-3]
    request = Request("m", of_length(30).prompt, max_new_tokens=2000, stop=(stop,))
    ended = backend().generate([request], [])[0]
    assert (ended.stop_reason, ended.text, ended.note) == ("stop", free.text[: free.text.index(stop)], "")


def test_a_choice_that_does_not_fit_is_no_answer() -> None:
    choices = ("calculator", "what")
    fits, cut = (backend().generate([of_length(n, choices=choices)], [])[0] for n in (20, CONTEXT - 1))
    assert (fits.text in choices, fits.stop_reason) == (True, "stop")
    assert cut.stop_reason == "context"


def test_few_shot_text_that_fills_the_context_ends_the_run() -> None:
    request = Request("m", "\nTask", prefix="zq" * CONTEXT)
    with pytest.raises(
        RunError, match=r"module m: its few-shot text alone is 80 tokens, and the model's context is 40"
    ):
        backend().generate([request], [])


def test_likelihoods_beyond_the_context_are_refused() -> None:
    engine = backend()
    assert engine.overflow(of_length(30), "zqzqzqzqz") == ""  # nine letters and the end of the text
    beyond = "a prompt of 30 tokens and 11 for the answer exceed the model's context of 40"
    assert engine.overflow(of_length(30), "zqzqzqzqzq") == beyond
    assert engine.score([of_length(30)], ["zqzqzqzqz"], []) == backend(context=2048).score(
        [of_length(30)], ["zqzqzqzqz"], []
    )
    with pytest.raises(RunError, match=f"module m: {beyond}"):
        engine.score([of_length(30)], ["zqzqzqzqzq"], [])


def folder_of(path: Path, context: int) -> Path:
    model, tokenizer = make_tiny()
    model.config.max_position_embeddings = context
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def test_a_run_whose_few_shot_text_does_not_fit_ends_and_says_so(tmp_path: Path) -> None:
    config = tiny_config(folder_of(tmp_path / "model", 300), tmp_path / "runs", "budget.steps=1", "guards=off")
    with pytest.raises(RunError, match=r"module planner: its few-shot text alone is \d+ tokens, and .* is 300;"):
        train(config, json_mode=True)
    (run,) = list_runs(tmp_path / "runs")
    assert "its few-shot text alone is" in run.error_log.read_text()


def test_tasks_that_are_too_long_end_a_run_before_its_first_step(tmp_path: Path) -> None:
    """The planner's few-shot text is 481 tokens here, so a context of 500 has room for no task."""
    config = tiny_config(folder_of(tmp_path / "model", 500), tmp_path / "runs", "budget.steps=1", "guards=off")
    with pytest.raises(
        UnscoredError, match=r"could not be scored .*: module planner: a prompt of \d+ tokens and 6 for"
    ):
        train(config, json_mode=True)


def test_gold_outputs_that_do_not_fit_are_refused_before_a_run_is_made(tmp_path: Path) -> None:
    config = tiny_config(
        folder_of(tmp_path / "model", 500),
        tmp_path / "runs",
        "objective=likelihood",
        "task.target=null",
        "budget.steps=1",
    )
    with pytest.raises(ConfigError, match=r"objective=likelihood: task \S+, module planner: a prompt of \d+ tokens"):
        train(config, json_mode=True)
    assert not (tmp_path / "runs").exists()
