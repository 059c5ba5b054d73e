"""Episodes on disk: JSON lines, zstd-compressed, one file per step or evaluation, written atomically.

`step-000004.jsonl.zst` holds what the members of step 4 did, `eval-000004-pool.jsonl.zst` what the unperturbed agent
did after 4 updates. A step that is done again overwrites its file.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import zstandard

from esagent.core.episode import Episode
from esagent.errors import RunError
from esagent.runs.atomic import reporting, write_bytes
from esagent.runs.jsonio import canonical, parse, plain


def step_file(folder: Path, step: int) -> Path:
    """Where the episodes of a step's population lie."""
    return folder / f"step-{step:06d}.jsonl.zst"


def evaluation_file(folder: Path, step: int, split: str) -> Path:
    """Where the episodes of the unperturbed agent after `step` updates on `split` lie."""
    return folder / f"eval-{step:06d}-{split}.jsonl.zst"


def write_episodes(path: Path, episodes: Iterable[Episode]) -> str:
    """Write all `episodes` of one file; returns its SHA-256. Raises EnvironmentFailure when the disk refuses."""
    lines = "".join(canonical(encode_episode(episode)) + "\n" for episode in episodes)
    data = zstandard.ZstdCompressor(level=6, write_checksum=True).compress(lines.encode())
    write_bytes(path, data)
    return hashlib.sha256(data).hexdigest()


def read_episodes(path: Path) -> Iterator[dict[str, Any]]:
    """The episodes of one file as dicts, one after the other. Raises RunError when the file is damaged."""
    try:
        with reporting("read", path), path.open("rb") as raw:
            stream = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            for line in io.TextIOWrapper(stream, encoding="utf-8"):
                yield parse(line)
    except (zstandard.ZstdError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}") from error


def damage(path: Path, sha256: str) -> str:
    """What is wrong with an episodes file whose SHA-256 was `sha256` when it was written; "" when nothing is."""
    with reporting("read", path):
        if not path.exists():
            return "is missing"
        return "" if hashlib.sha256(path.read_bytes()).hexdigest() == sha256 else "is damaged or of another run"


def encode_episode(episode: Episode) -> dict[str, Any]:
    """An episode as plain values: the task (tools by name), every turn, the answer and the score."""
    task, trajectory = episode.task, episode.trajectory
    return {
        "task": {
            "id": task.id,
            "family": task.family,
            "split": task.split,
            "prompt": task.prompt,
            "tools": [tool.name for tool in task.tools],
            "payload": plain(task.payload),
            "content_hash": task.content_hash,
        },
        "member": episode.member,
        "sample": episode.sample,
        "turns": plain(trajectory.turns),
        "plan": list(trajectory.plan),
        "answer": trajectory.answer,
        "score": plain(episode.score),
    }
