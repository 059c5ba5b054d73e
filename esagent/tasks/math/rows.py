"""Questions with answers from JSONL files or from a hub: what each of the levels reads, and how it is divided."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esagent.config.files import user_path
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.tasks.base import Split
from esagent.tasks.division import check_shares, divide
from esagent.tasks.jsonl import named_split
from esagent.tasks.lines import field, read_lines
from esagent.tasks.neighbours import near_duplicates, normalised

HUB: Mapping[str, tuple[str, str | None]] = {
    "gsm8k": ("openai/gsm8k", "main"),
    "math500": ("HuggingFaceH4/MATH-500", None),
    "amc": ("AI-MO/aimo-validation-amc", None),
    "aime": ("HuggingFaceH4/aime_2024", None),
}
"""Where a level's rows lie on the hub: data set and configuration."""

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(?<!\.jsonl)")
_FILES: tuple[tuple[str, Split], ...] = (("train", "train"), ("validation", "validation"), ("test", "heldout"))


@dataclass(frozen=True)
class Row:
    """One question. split: the one it says it belongs to. place: where it stands, its id."""

    question: str
    answer: str
    split: Split | None
    place: str


def load(level: str, path: str | None, subset: str | None, shares: Sequence[float]) -> dict[Split, list[Row]]:
    """The rows of a level, by split.

    path: a JSONL file; a folder with LEVEL.jsonl, or with train.jsonl and test.jsonl; the id of a data set on a hub;
    None for the level's own one there. Rows whose question repeats an earlier one, or has a near-duplicate in a split
    that outranks their own, are left out (see division.py). Raises ConfigError and EnvironmentFailure, one line each.
    """
    check_shares(shares)
    rows = _unique(_found(level, path, subset))
    questions = [row.question for row in rows]
    splits = divide(near_duplicates(questions), list(map(normalised, questions)), [row.split for row in rows], shares)
    out: dict[Split, list[Row]] = {"train": [], "validation": [], "heldout": []}
    for row, split in zip(rows, splits, strict=True):
        if split is not None:
            out[split].append(row)
    return out


def _found(level: str, path: str | None, subset: str | None) -> list[Row]:
    if path is None:
        return _from_hub(*HUB[level], needed=level)
    place = user_path(path)
    if place.is_dir():
        return _from_folder(place, level)
    if place.is_file() or not HUB_ID.fullmatch(path):
        return _from_file(place, None)
    return _from_hub(path, subset, needed="")


def _from_folder(folder: Path, level: str) -> list[Row]:
    one = folder / f"{level}.jsonl"
    if one.is_file():
        return _from_file(one, None)
    parts = [(folder / f"{name}.jsonl", split) for name, split in _FILES]
    if not parts[-1][0].is_file():
        raise ConfigError(f"task.path: {folder} holds neither {level}.jsonl nor test.jsonl; name the file itself")
    return [row for file, split in parts if file.is_file() for row in _from_file(file, split)]


def _from_file(path: Path, split: Split | None) -> list[Row]:
    def row(line: int, given: Mapping[str, Any]) -> Row:
        return _row(given, split, f"{path.stem}:{line}")

    return [found for _, found in read_lines(path, row)]


def _row(given: Mapping[str, Any], split: Split | None, place: str) -> Row:
    """Read one object. An answer in GSM8K's form counts from its last "####" on. Raises ValueError."""
    row = {str(name).casefold(): value for name, value in given.items()}
    answer = field(row, "answer", "final_answer").rpartition("####")[2].strip()
    if not answer:
        raise ValueError("nothing follows '####' in the answer")
    return Row(field(row, "question", "problem", "prompt"), answer, split or named_split(row.get("split")), place)


def _from_hub(name: str, subset: str | None, needed: str) -> list[Row]:
    """The rows of a data set on the hub, through the `datasets` library where it is installed."""
    why = f"task.level={needed} without task.path reads {name} from the hub" if needed else f"task.path={name}: no file"
    try:
        import datasets
    except ImportError as error:
        raise EnvironmentFailure(
            f"{why}; name a JSONL file, task.path=FILE.jsonl, or pip install datasets for the hub"
        ) from error
    try:
        loaded: Mapping[str, Iterable[Mapping[str, Any]]] = datasets.load_dataset(name, subset)
        parts = [(part, list(rows)) for part, rows in loaded.items()]
    except Exception as error:  # a library that asks a server may raise anything
        raise EnvironmentFailure(f"{why}, which fails: {' '.join(str(error).split())[:200]}") from error
    return [row for part, rows in parts for row in _from_part(name, rows, part, part if len(parts) > 1 else None)]


def _from_part(name: str, rows: list[Mapping[str, Any]], part: str, named: str | None) -> list[Row]:
    out = []
    for at, given in enumerate(rows):
        try:
            out.append(_row(given, named_split(named), f"{part}:{at}"))
        except ValueError as error:
            raise ConfigError(f"task.path={name}: row {at} of {part}: {error}") from error
    return out


def _unique(rows: list[Row]) -> list[Row]:
    """Rows whose question is no earlier one's; the same question with two answers is a mistake in the data."""
    seen: dict[str, Row] = {}
    for row in rows:
        other = seen.setdefault(" ".join(row.question.split()), row)
        if other.answer != row.answer:
            raise ConfigError(f"task.path: {row.place} asks the question of {other.place} with another answer")
    return list(seen.values())
