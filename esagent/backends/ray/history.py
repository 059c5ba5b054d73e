"""What a worker must do to reach the state the search is in: updates since the start, and files that shorten the way.

Snapshots are written by a worker and read by workers; they are files of the run, never messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from esagent.core.population import Update

Move = Update | None
"""What is done to a state: an update, or None for an optimiser that starts anew."""

KEPT = 3  # newest files that are tried


@dataclass(frozen=True)
class Kept:
    """The state after `position` moves, in a file."""

    position: int
    path: Path


@dataclass(frozen=True)
class Route:
    """A way to the present state: from the state in `path` (None: the one a backend is made in), `position` moves on
    from where the history begins, by the moves after it."""

    path: Path | None
    position: int


class History:
    """Moves in order, from the state a backend is made in or from a file that all workers loaded.

    digest: of the state after all moves; "" while workers have not agreed on one. epoch: counts such files, so that
    whoever is on a way through an older history notices.
    """

    def __init__(self, digest: str) -> None:
        self.moves: list[Move] = []
        self.digest = digest
        self.epoch = 0
        self._from_scratch = True
        self._kept: list[Kept] = []

    def add(self, move: Move) -> None:
        """Workers are asked to make `move`."""
        self.moves.append(move)
        self.digest = ""

    def loaded(self, path: Path) -> None:
        """Workers are asked to take over the state in `path`: what was before does not matter any more."""
        self.moves, self.digest = [], ""
        self.epoch += 1
        self._from_scratch = False
        self._kept = [Kept(0, path)]

    def kept(self, path: Path) -> None:
        """The present state is also in `path`."""
        self._kept.append(Kept(len(self.moves), path))

    def routes(self, fresh: bool) -> list[Route]:
        """Ways to the present state, the shortest first; a file may be gone, and then the next one is to be tried.

        fresh: whether the worker is in the state it was made in.
        """
        files = [*self._kept[:1], *self._kept[1:][-KEPT:]]
        found = [Route(kept.path, kept.position) for kept in reversed(files)]
        return found + ([Route(None, 0)] if self._from_scratch and fresh else [])
