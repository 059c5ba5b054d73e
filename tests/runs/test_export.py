"""Exported agents, loaded as their own README.md says, give the greedy tokens of the run's own evaluation."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from esagent.agents.registry import make_agent
from esagent.backends.registry import make_backend
from esagent.config.export import read_config
from esagent.config.schema import Positions, PromptStyle, SpaceConfig
from esagent.core.episode import UNPERTURBED, Completion, Request
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.models.chat import render
from esagent.pools import make_pools
from esagent.rollout import rollout
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import evaluation_file, read_episodes
from esagent.runs.export.export import export
from esagent.runs.states import find_state
from esagent.tasks.registry import make_family
from tests.helpers.tiny import CHATML, HYBRID
from tests.helpers.trained import tiny_run

ANSWER, ALL = Positions.answer, Positions.all
FULL = SpaceConfig("full", "all", [], positions=ALL, partition="whole")

RUNS: dict[str, tuple[Any, ...]] = {
    "default": ("llama", SpaceConfig(layers="2-3", positions=ANSWER)),
    "core": ("qwen3", SpaceConfig("core", "1-3", ["o_proj", "down_proj"], positions=ALL, rank=4)),
    "core-answer": ("qwen2", SpaceConfig("core", "2-3", ["q_proj"], positions=ANSWER, rank=4)),
    "lora": ("qwen2", SpaceConfig("lora", "2-3", ["q_proj", "down_proj"], positions=ALL, rank=3)),
    "react-lora": ("llama", SpaceConfig("lora", "1-3", positions=ALL, rank=2, sigma_a=0.5), "react"),
    "lowrank": (
        "llama",
        SpaceConfig("lowrank", "all", [], positions=ALL, partition="whole", rank=2, scale="relative"),
    ),
    "vectors": ("qwen2", SpaceConfig(layers="last:2", modules=["planner", "synthesizer"], positions=ALL)),
    "react-core": ("llama", SpaceConfig("core", "2-3", positions=ALL, init="orthonormal"), "react"),
    "react-vectors": ("llama", SpaceConfig(layers="2-3", positions=ALL), "react"),
    "react-biased": ("qwen2", SpaceConfig(layers="2-3", sites=["q_proj"], positions=ALL), "react"),
    "react-unbiased": ("qwen3", SpaceConfig(layers="2-3", positions=ALL), "react"),
    "full": ("llama", FULL),
    "full-chosen": ("qwen3", replace(FULL, include=["layers"], exclude=["norm"], scale="relative", partition="layer")),
    "chat": ("qwen2", SpaceConfig(layers="2-3", positions=ANSWER), "react", CHATML),
    "hybrid": (HYBRID, SpaceConfig("core", "1-3", ["out_proj", "o_proj"], positions=ALL, rank=4)),
    "hybrid-answer": (HYBRID, SpaceConfig(layers="1-3", sites=["in_proj_z", "down_proj"], positions=ANSWER)),
}

EXPORTS = [
    ("default", "hooks", "best"),
    ("default", "hooks", "1"),
    ("default", "hooks", "0"),
    ("core", "peft", "best"),
    ("core", "peft", "1"),
    ("core", "hooks", "last"),
    ("core-answer", "hooks", "last"),
    ("lora", "peft", "best"),
    ("lowrank", "hf", "best"),
    ("react-lora", "peft", "1"),
    ("react-lora", "hf", "best"),
    ("vectors", "peft", "best"),
    ("vectors", "hooks", "best"),
    ("react-core", "peft", "best"),
    ("react-core", "hf", "best"),
    ("react-vectors", "peft", "best"),
    ("react-vectors", "hf", "1"),
    ("react-biased", "hf", "best"),
    ("full", "hf", "best"),
    ("full", "hf", "1"),
    ("full-chosen", "hf", "0"),
    ("full-chosen", "hf", "last"),
    ("chat", "hooks", "best"),
    ("hybrid", "peft", "best"),
    ("hybrid-answer", "hooks", "best"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RunDirectory]:
    made: dict[str, RunDirectory] = {}

    def get(name: str) -> RunDirectory:
        if name not in made:
            made[name] = tiny_run(tmp_path_factory.mktemp(name), *RUNS[name])
        return made[name]

    return get


class Exported:
    """A backend that knows nothing of esagent but what README.md of an export says: it runs its code."""

    def __init__(self, folder: Path, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(folder)
        sys.modules.pop("agent", None)
        self.space: dict[str, Any] = {}
        for block in re.findall(r"^```python\n(.*?)^```", (folder / "README.md").read_text(), re.DOTALL | re.MULTILINE):
            exec(block, self.space)
        self.tokenizer = tokenizer
        self.trained = json.loads((folder / "export.json").read_text())["trained_modules"]

    def generate(self, requests: Sequence[Request], members: Sequence[Any] = ()) -> list[Completion]:
        return [Completion(self._complete(request)) for request in requests]

    def _complete(self, request: Request) -> str:
        prompt = "".join(render(self.tokenizer, request))
        call = self.space["complete"]
        if isinstance(self.space.get("model"), PeftModel) and request.module not in self.trained:
            with self.space["model"].disable_adapter():
                return call(self.trained[0], prompt, request.max_new_tokens, request.stop)
        return call(request.module, prompt, request.max_new_tokens, request.stop)


@pytest.fixture
def written(runs: Callable[[str], RunDirectory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def write(name: str, format: str, state: str) -> tuple[RunDirectory, Exported]:
        run = runs(name)
        export(run, format, state, tmp_path / "out")
        backend = make_backend(read_config(run.config), agent_of(run).modules)
        return run, Exported(tmp_path / "out", backend._tokenizer, monkeypatch)  # type: ignore[attr-defined]

    return write


def agent_of(run: RunDirectory) -> Any:
    config = read_config(run.config)
    chat = json.loads((Path(config.model.source) / "tokenizer_config.json").read_text()).get("chat_template")
    chat = chat or (Path(config.model.source) / "chat_template.jinja").exists()
    return make_agent(config.agent, PromptStyle.chat if chat else PromptStyle.raw)


def texts(turns: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(turn["module"], turn["completion"]["text"]) for turn in turns]


class Noted:
    """Passes requests on to a backend, and keeps them with its answers."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.together = backend.together
        self.seen: list[tuple[Request, Completion]] = []

    def generate(self, requests: Sequence[Request], members: Sequence[Any]) -> list[Completion]:
        completions = self.backend.generate(requests, members)
        self.seen += zip(requests, completions, strict=True)
        return completions


@pytest.mark.parametrize(("name", "format", "state"), EXPORTS, ids=["-".join(case) for case in EXPORTS])
def test_every_answer_of_the_runs_own_evaluation_is_given(written, name: str, format: str, state: str) -> None:
    run, exported = written(name, format, state)
    config = read_config(run.config)
    family, agent = make_family(config.task), agent_of(run)
    backend = Noted(make_backend(config, agent.modules))
    past = find_state(run, state)
    past.bring(backend.backend)
    tasks = make_pools(family, config.task, config.seed).pool
    episodes = rollout(agent, family, backend, (), tasks)  # type: ignore[arg-type]
    recorded = list(read_episodes(evaluation_file(run.episodes, past.step, "pool")))
    assert [[(turn.module, turn.completion.text) for turn in episode.trajectory.turns] for episode in episodes] == [
        texts(episode["turns"]) for episode in recorded
    ]
    assert len(backend.seen) >= 4
    for request, completion in backend.seen:
        assert exported.generate([request])[0].text == completion.text


@pytest.mark.parametrize("name", RUNS)
def test_training_changed_what_the_agent_says(runs: Callable[[str], RunDirectory], name: str) -> None:
    """Otherwise the test above would pass for an export of nothing."""
    base, trained = (
        [texts(episode["turns"]) for episode in read_episodes(evaluation_file(runs(name).episodes, step, "pool"))]
        for step in (0, 2)
    )
    assert base != trained


@pytest.mark.parametrize(
    ("name", "format"), [("default", "hooks"), ("core", "peft"), ("core", "hooks"), ("vectors", "peft"), ("full", "hf")]
)
def test_every_module_answers_as_in_the_run(written, name: str, format: str) -> None:
    """Also the caller, which a random model never comes to; long answers, and a prefix."""
    run, exported = written(name, format, "best")
    config = read_config(run.config)
    agent = agent_of(run)
    backend = make_backend(config, agent.modules)
    find_state(run, "best").bring(backend)
    requests = [
        Request(module, f"\n\n{prompt}", prefix="Call: calculator(12, 30)", member=UNPERTURBED, max_new_tokens=24)
        for module in agent.modules
        for prompt in ("Question: 2 + 2?\nAnswer:", "Which day comes ten days after 2024-02-20?\nTool:")
    ]
    wanted = [completion.text for completion in backend.generate(requests, ())]
    assert [completion.text for completion in exported.generate(requests)] == wanted
    asked = {(r.prompt, r.module if read_config(run.config).space.name != "full" else "") for r in requests}
    assert len(set(wanted)) > len(asked) // 2  # modules that share weights give the same answer to the same prompt


def test_an_adapter_is_the_change_of_the_weights(runs: Callable[[str], RunDirectory], tmp_path: Path) -> None:
    """W + B R A by hand, against what peft merges."""
    run = runs("core")
    export(run, "peft", "best", tmp_path / "out")
    config = read_config(run.config)
    backend: Any = make_backend(config, agent_of(run).modules)
    find_state(run, "best").bring(backend)
    plain = AutoModelForCausalLM.from_pretrained(config.model.source, dtype=torch.float32)
    weights = {name: parameter.clone() for name, parameter in plain.named_parameters()}
    merged = PeftModel.from_pretrained(plain, tmp_path / "out" / "caller").merge_and_unload()
    changes, _ = backend.space.dense(backend.space.parameters.values("caller"))
    assert len(changes) == 6
    for name, parameter in merged.named_parameters():
        change = changes.get(name.removesuffix(".weight"), torch.zeros(()))
        assert torch.allclose(parameter, weights[name] + change, atol=1e-6)
        assert torch.equal(parameter, weights[name]) == (name.removesuffix(".weight") not in changes)


def test_hooks_act_from_the_last_token_of_the_prompt_on(runs, tmp_path: Path, monkeypatch) -> None:
    """A vector at the last layer changes no key or value, so logits of the prompt before must be the base model's."""
    run = runs("default")
    export(run, "hooks", "best", tmp_path / "out")
    space = Exported(tmp_path / "out", None, monkeypatch).space
    agent = space["agent"]
    ids = agent.tokenizer("one two three four", return_tensors="pt")["input_ids"]
    length = ids.shape[1]
    with torch.inference_mode():
        base = agent.model(ids).logits
        with agent.acting("caller", prompt_length=length - 2):
            acted = agent.model(ids).logits
            first = agent.model(ids[:, : length - 1], use_cache=True)
            apart = agent.model(ids[:, length - 1 :], past_key_values=first.past_key_values).logits
        after = agent.model(ids).logits
    assert torch.equal(acted[:, : length - 3], base[:, : length - 3])
    assert not torch.isclose(acted[:, length - 3 :], base[:, length - 3 :]).all(dim=-1).any()
    assert torch.allclose(apart[:, 0], acted[:, -1], atol=1e-5)
    assert torch.equal(after, base)
    with pytest.raises(ValueError, match="no module 'nobody'"), agent.acting("nobody", 1):
        pass


def test_a_models_own_repetition_penalty_does_not_reach_the_answers(runs, tmp_path: Path, monkeypatch) -> None:
    run = runs("default")
    source = Path(read_config(run.config).model.source)
    before = (source / "generation_config.json").read_text()
    export(run, "hooks", "best", tmp_path / "out")
    plain = Exported(tmp_path / "out", None, monkeypatch).space["complete"]("planner", "a a a a", 24)
    try:
        (source / "generation_config.json").write_text(json.dumps({**json.loads(before), "repetition_penalty": 5.0}))
        penalised = Exported(tmp_path / "out", None, monkeypatch).space["complete"]("planner", "a a a a", 24)
    finally:
        (source / "generation_config.json").write_text(before)
    assert penalised == plain


def test_the_folder_says_what_it_is(runs: Callable[[str], RunDirectory]) -> None:
    run = runs("default")
    done = export(run, None, "best", None)
    folder = run.path / "exports" / "hooks-000002"
    assert done["output"] == str(folder)
    assert done["modules"] == ["planner", "selector", "caller", "synthesizer"]
    assert done["files"] == sorted(
        ["README.md", "agent.py", "export.json"]
        + [f"{module}.safetensors" for module in done["modules"]]
        + [f"prompts/{module}.txt" for module in done["modules"]]
    )
    facts = json.loads((folder / "export.json").read_text())
    summary, manifest = (json.loads(path.read_text()) for path in (run.summary, run.manifest))
    assert (facts["state"], facts["digest"]) == (2, summary["digest"])
    assert facts["base"]["sha256"] == manifest["model_hash"]
    assert (facts["positions"], facts["prompt_style"], facts["run_dtype"]) == ("answer", "raw", "float32")
    page = (folder / "README.md").read_text()
    assert all(str(part) in page for part in (facts["digest"], facts["base"]["sha256"], facts["run"]))
    assert "--- task ---" in (folder / "prompts" / "caller.txt").read_text()
    assert not list(run.path.rglob(".tmp-*"))


def test_a_finer_snapshot_is_not_needed(runs: Callable[[str], RunDirectory], tmp_path: Path) -> None:
    """State 1 rebuilt from the journal is the state that was evaluated; see also the exports of state 1 above."""
    run = runs("default")
    kept = {path.name for path in run.snapshots.glob("*.safetensors")}
    export(run, "hooks", "1", tmp_path / "one")
    one = load_file(tmp_path / "one" / "planner.safetensors")
    export(run, "hooks", "2", tmp_path / "two")
    two = load_file(tmp_path / "two" / "planner.safetensors")
    assert any(not torch.equal(one[name], two[name]) for name in one)
    assert {path.name for path in run.snapshots.glob("*.safetensors")} == kept


REFUSED = [
    ("default", "peft", "best", r"--format peft: .*positions=answer.*every token; use --format hooks"),
    ("default", "hf", "best", r"--format hf: planner, .* one set; use --format hooks"),
    ("chat", "hf", "best", r"--format hf: .*positions=answer"),
    ("core", "hf", "best", r"--format hf: planner, selector, caller, synthesizer .*; use --format peft"),
    ("vectors", "hf", "best", r"--format hf: planner, selector"),
    ("react-unbiased", "hf", "best", r"down_proj of Qwen3ForCausalLM takes no bias"),
    ("core", "peff", "best", r"--format peff: did you mean peft\? choose from peft, hf, hooks"),
    ("full", "peft", "best", "--format peft: space=full moved the model's own weights; use --format hf"),
    ("full", "hooks", "best", "--format hooks: space=full"),
    ("core", None, "3", "has done 2 updates"),
    ("core", None, "latest", "must be best, last, or a number"),
]


@pytest.mark.parametrize(("name", "format", "state", "says"), REFUSED, ids=["-".join(map(str, c[:3])) for c in REFUSED])
def test_what_cannot_be_is_refused_in_one_line(
    runs: Callable[[str], RunDirectory], tmp_path: Path, name: str, format: str | None, state: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        export(runs(name), format, state, tmp_path / "made" / "out")
    assert len(caught.value.problems) == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(runs: Callable[[str], RunDirectory], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("full", "file", "file/below"):
        with pytest.raises((ConfigError, EnvironmentFailure), match=name):
            export(runs("core"), None, "best", tmp_path / name)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full", "mine.txt"]
    (tmp_path / "empty").mkdir()
    export(runs("core"), None, "best", tmp_path / "empty")
    assert (tmp_path / "empty" / "caller" / "adapter_config.json").exists()


def test_other_weights_than_the_runs_are_noticed(tmp_path: Path) -> None:
    run = tiny_run(tmp_path, "llama", SpaceConfig(layers="2-3"))
    weights = Path(read_config(run.config).model.source) / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(ConfigError, match="trained on other weights"):
        export(run, None, "best", tmp_path / "out")
    weights.unlink()
    with pytest.raises(EnvironmentFailure, match=r"model.safetensors missing"):
        export(run, None, "best", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_have_the_mode_that_the_umask_gives(runs: Callable[[str], RunDirectory], tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        done = export(runs("default"), "hooks", "best", tmp_path / "there")
    finally:
        os.umask(before)
    modes = {name: (tmp_path / "there" / name).stat().st_mode & 0o777 for name in done["files"]}
    assert modes == dict.fromkeys(done["files"], 0o640)
    assert any(name.endswith(".safetensors") for name in modes)


def test_the_folder_one_stands_in_is_not_replaced(
    runs: Callable[[str], RunDirectory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"--output \.: is there already"):
        export(runs("default"), "hooks", "best", Path("."))
    assert list(tmp_path.iterdir()) == []
