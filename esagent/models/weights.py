"""The weight files of a local model folder: what is missing, and one hash over all of it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from esagent.errors import EnvironmentFailure
from esagent.models.cache import cache_root, file_sha256

INDEX = "model.safetensors.index.json"


def weight_files(folder: Path) -> list[Path]:
    """The weight files a model folder should have, present or not: the shards of its index, else model.safetensors.

    Raises EnvironmentFailure when the index cannot be read.
    """
    index = folder / INDEX
    if index.is_file():
        try:
            shards = json.loads(index.read_text())["weight_map"].values()
            return [folder / name for name in sorted(set(shards))]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise EnvironmentFailure(f"{index} cannot be read ({type(error).__name__}: {error})") from error
    return [folder / "model.safetensors"]


def missing(folder: Path) -> list[str]:
    """What keeps `folder` from being loaded as a model with its tokenizer; empty when complete."""
    absent = [] if (folder / "config.json").is_file() else ["config.json"]
    absent += [path.name for path in weight_files(folder) if not path.is_file()]
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        absent.append("tokenizer.json")
    return absent


def weights_sha256(folder: Path) -> str:
    """SHA-256 over names and contents of the weight files of `folder`.

    Each file is read once and remembered by path, size and time of change, so that a large model is not read again at
    every start.
    """
    total = hashlib.sha256()
    for path in weight_files(folder):
        total.update(f"{path.name}\0{_remembered(path)}\n".encode())
    return total.hexdigest()


def _remembered(path: Path) -> str:
    real = path.resolve()
    stat = real.stat()
    key = hashlib.sha256(f"{real}\0{stat.st_size}\0{stat.st_mtime_ns}".encode()).hexdigest()
    note = cache_root() / "hashes" / key
    try:
        return note.read_text()
    except OSError:
        digest = file_sha256(real)
    note.parent.mkdir(parents=True, exist_ok=True)
    draft = note.with_suffix(f".{os.getpid()}")
    draft.write_text(digest)
    draft.replace(note)
    return digest
