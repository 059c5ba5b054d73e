"""Tasks of one pool that are, for an agent, those of another: what is reported was trained on.

Equal content is refused when pools are made. Here prompts are compared as an agent reads them: equal but for case,
punctuation and spaces, or nearly so. Near means that of the runs of three words in the two prompts a share of at least
0.8 is in both, and that all numbers are the same: questions made of one template with other numbers are no copies.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from esagent.core.episode import Task
from esagent.guards.finding import Finding
from esagent.guards.subject import Subject

NAME = "leakage"
NEAR = 0.8
_WORDS = re.compile(r"[^\W_]+(?:\.\d+)?")
_COMMON = 50
"""Runs of words in more prompts than this say nothing about a pair of them."""

Shingles = frozenset[tuple[str, ...]]


def leakage(subject: Subject) -> Iterator[Finding]:
    """figure: tasks of a pool whose prompt stands in an earlier pool as well, exactly or nearly."""
    pools = subject.parts.pools
    splits = {"pool": pools.pool, "validation": pools.validation, "heldout": pools.heldout}
    same, near, example = 0, 0, ""
    for task, split, other, there, share in _shared(splits):
        same += share == 1.0
        near += share < 1.0
        kind = "the same prompt as" if share == 1.0 else f"{share:.0%} of the words of"
        example = example or f"{task.id} of {split} has {kind} {other.id} of {there}"
    total = len(pools.validation) + len(pools.heldout)
    if same or near:
        yield Finding(
            NAME,
            "fault",
            f"{same} prompts stand in two pools and {near} nearly do ({example})",
            "take copies out of the data, or give each split its own source (the split of a JSONL row, "
            "TaskFamily.tasks)",
            float(same + near),
        )
    else:
        yield Finding(NAME, "ok", f"no prompt of {total} that are evaluated on is like one of another pool", "", 0.0)


def _shared(splits: Mapping[str, tuple[Task, ...]]) -> Iterator[tuple[Task, str, Task, str, float]]:
    """(task, its split, the task it is like, the split of that one, share of words): once for every task."""
    seen: list[tuple[Task, str, Shingles, list[str]]] = []
    exact: dict[tuple[str, ...], int] = {}
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for split, tasks in splits.items():
        for task in tasks:
            words = tuple(_words(task.prompt))
            shingles = _shingles(words)
            numbers = sorted(word for word in words if word[0].isdigit())
            twin = exact.get(words)
            if words and twin is not None and seen[twin][1] != split:
                yield task, split, seen[twin][0], seen[twin][1], 1.0
            elif words:
                holding = (at for shingle in shingles for at in holders[shingle][:_COMMON])
                common = Counter(at for at in holding if seen[at][1] != split)
                for at, count in common.most_common(3):
                    other, there, theirs, digits = seen[at]
                    share = count / len(shingles | theirs)
                    if share >= NEAR and digits == numbers:
                        yield task, split, other, there, min(share, 1.0 - 1e-9)
                        break
            exact.setdefault(words, len(seen))
            for shingle in shingles:
                holders[shingle].append(len(seen))
            seen.append((task, split, shingles, numbers))


def _words(text: str) -> list[str]:
    return _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())


def _shingles(words: tuple[str, ...]) -> Shingles:
    return frozenset(words[i : i + 3] for i in range(max(1, len(words) - 2)))
