"""How well numbers followed an update: rounding may turn it, or swallow parts of it."""

from __future__ import annotations

from torch import Tensor


class Fidelity:
    """Sums over the ranges of an update."""

    def __init__(self) -> None:
        self._dot = self._wanted = self._applied = 0.0
        self._meant = self._stuck = 0

    def add(self, intended: Tensor, applied: Tensor) -> None:
        """One range: what its numbers were to move by, and what they did (both fp64)."""
        self._dot += float(intended @ applied)
        self._wanted += float(intended @ intended)
        self._applied += float(applied @ applied)
        meant = intended != 0
        self._meant += int(meant.sum())
        self._stuck += int((meant & (applied == 0)).sum())

    @property
    def cosine(self) -> float:
        """cos(applied, intended); nan for an update of zero."""
        norms = (self._wanted * self._applied) ** 0.5
        return self._dot / norms if norms > 0 else float("nan")

    @property
    def unmoved(self) -> float:
        """Share of the numbers that were meant to move and did not."""
        return self._stuck / max(1, self._meant)
