"""Vectors on the outputs of vLLM's layers, token by token: what a `bias` space is, and no LoRA can be.

A layer's output gets row s of a table, s being the version that the token runs under; row 0 is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from esagent.backends.vllm.asked import versions
from esagent.backends.vllm.layout import Band


class Steering:
    """sites: {path: (vLLM's layer, the rows of the vector that it holds on this device)}."""

    def __init__(self, runner: Any, sites: Mapping[str, tuple[nn.Module, Band]]) -> None:
        self._runner = runner
        self._bands = {path: band for path, (_, band) in sites.items()}
        self._like: Tensor = next(runner.get_model().parameters())
        self._row: Tensor | None = None
        self._rows: dict[int, int] = {}
        self._tables: dict[str, Tensor] = {}
        self.forget()
        for path, (module, band) in sites.items():
            module.register_forward_hook(self._hook(path, band))
        self._watch(runner)

    def add(self, vectors: Mapping[int, Mapping[str, Tensor]]) -> None:
        """New versions: {number: {path: vector [width]}}; a path left out is zero."""
        for number in vectors:
            self._rows[number] = len(self._rows)
        for path, band in self._bands.items():
            new = [
                found[path][slice(*band.rows)] if path in found else torch.zeros(band.height)
                for found in vectors.values()
            ]
            if new:
                self._tables[path] = torch.cat([self._tables[path], torch.stack(new).to(self._tables[path])])

    def forget(self) -> None:
        """Keep row 0 alone."""
        self._rows = {0: 0}
        self._tables = {path: self._like.new_zeros(1, band.height) for path, band in self._bands.items()}

    def _watch(self, runner: Any) -> None:
        """Know the version of each token before a pass begins."""
        prepare = runner._prepare_inputs

        def prepared(scheduler_output: Any, num_scheduled_tokens: Any) -> Any:
            done = prepare(scheduler_output, num_scheduled_tokens)
            rows = [self._rows[number] for number in versions(runner, num_scheduled_tokens).tolist()]
            self._row = torch.tensor(rows, device=self._like.device)
            return done

        runner._prepare_inputs = prepared

    def _hook(self, path: str, band: Band) -> Any:
        place = slice(band.place, band.place + band.height)

        def add(_: nn.Module, inputs: Any, output: Any) -> Any:
            if self._row is None or len(self._tables[path]) == 1:
                return output
            out = output[0] if isinstance(output, tuple) else output
            count = min(len(self._row), len(out))  # rows beyond are padding
            out[:count, place] += self._tables[path][self._row[:count]]
            return output

        return add
