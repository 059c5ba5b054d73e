"""What the jobs of a sweep say, line by line as they say it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

_SHOWN = ("[", "esagent:")  # progress and messages; closing tables and what else is printed stays in the log


class Follower:
    """Shows new lines of logs, each after the label of its job."""

    def __init__(self, labels: Mapping[Path, str], stream: TextIO) -> None:
        self._labels = labels
        self._stream = stream
        self._read = dict.fromkeys(labels, 0)  # bytes

    def show(self) -> None:
        """Print the whole lines that came since the last call."""
        for path, label in self._labels.items():
            for line in self._news(path):
                if line.startswith(_SHOWN):
                    self._stream.write(f"{label}: {line}\n")
        self._stream.flush()

    def _news(self, path: Path) -> list[str]:
        if not path.exists():
            return []
        with path.open("rb") as log:
            log.seek(self._read[path])
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read[path] += len(whole)
        return whole.decode(errors="replace").splitlines()


def last_message(path: Path) -> str:
    """The last message of a job for its user; "" when it left none."""
    lines = path.read_text(errors="replace").splitlines()
    return next((line.removeprefix("esagent: ") for line in reversed(lines) if line.startswith("esagent: ")), "")
