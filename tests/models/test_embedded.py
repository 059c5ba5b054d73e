"""The embedded model itself: made by two processes at once, loaded, and found to be the model it says it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from esagent.config.schema import ModelConfig
from esagent.models.catalog import CATALOG, architecture_of_folder
from esagent.models.loading import load
from esagent.models.registry import resolve

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty cache filled by two processes that start together."""
    root = tmp_path_factory.mktemp("cache")
    command = [sys.executable, "-m", "esagent.models.embedded"]
    environment = {**os.environ, "ESAGENT_CACHE": str(root)}
    children = [
        subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    answers = [child.communicate(timeout=250) for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert answers[0][0] == answers[1][0]
    assert sum("preparing the embedded model" in err for _, err in answers) == 1
    return root


def test_the_converted_model_is_right(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESAGENT_CACHE", str(shared_cache))
    found = resolve(ModelConfig())
    assert found == resolve(ModelConfig())
    assert architecture_of_folder(found.folder) == CATALOG["smollm2-135m"].architecture
    model, tokenizer = load(found, torch.float32, torch.device("cpu"))
    assert tokenizer.convert_ids_to_tokens(tokenizer("a   12")["input_ids"]) == ["a", "ĠĠĠ", "1", "2"]
    batch = tokenizer(["The capital of France is", "The opposite of hot is"], return_tensors="pt", padding=True)
    out = model.generate(**batch, max_new_tokens=4, do_sample=False)[:, batch["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(out[0])
    assert "cold" in tokenizer.decode(out[1])
