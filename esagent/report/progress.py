"""Live progress of a training run on stderr: one updating display on a terminal, one plain line per event elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from esagent.core.ledger import Limit
from esagent.report.text import amount, duration, number, per_module


class Progress:
    """Context manager that shows how far a run is. Writes to stderr only; stdout belongs to data."""

    def __init__(
        self,
        limit: Limit,
        modules: Sequence[str],
        json_mode: bool = False,
        stream: TextIO | None = None,
        fitness: str = "reward",
    ) -> None:
        """limit: the run's budget. modules: names of the searched blocks, in display order. json_mode: plain lines
        even on a terminal. fitness: what members are compared by, in a word or two."""
        self._limit = limit
        self._fitness = fitness
        self._modules = tuple(modules)
        self._console = Console(file=stream or sys.stderr, highlight=False, soft_wrap=True)
        self._start = time.monotonic()
        self._doing = "starting"
        self._costs: Sequence[float] = ()
        self._numbers: list[tuple[str, str]] = []
        self._live: Live | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal and not json_mode:
            # Log lines on stderr go above the display; stdout may be a pipe and is left alone.
            self._live = Live(
                console=self._console,
                refresh_per_second=4,
                transient=True,
                redirect_stdout=False,
                get_renderable=self._render,
            )

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def phase(self, text: str) -> None:
        """Say what is going on now, e.g. "loading model"."""
        self._doing = text
        if self._live is None:
            self._say(text)

    def step(
        self,
        costs: Sequence[float],
        reward_mean: float,
        reward_std: float,
        sigma: Mapping[str, float],
        counts: Mapping[str, int],
        tokens_per_second: float,
        seconds_left: float | None,
    ) -> None:
        """A step ended. costs: of all steps so far, in the unit of the budget; sigma and directions per module."""
        self._costs = costs
        self._doing = "training"
        self._numbers = [
            (self._fitness, f"{number(reward_mean)} ± {number(reward_std)}"),
            ("sigma", per_module(self._ordered(sigma))),
            ("directions", per_module(self._ordered(counts))),
            ("speed", f"{amount(tokens_per_second)} tokens/s"),
            ("left", duration(seconds_left)),
        ]
        if self._live is None:
            self._say(f"{self._place()}  " + "  ".join(f"{name} {value}" for name, value in self._numbers))

    def evaluation(self, step: int, split: str, mean: float) -> None:
        """The unperturbed agent was evaluated after `step` updates; stays on the screen."""
        self._say(f"after step {step}: {split} reward {number(mean)}")

    def _place(self) -> str:
        """`step 3/16`, or `step 3, 19% of 8.0M tokens`."""
        done, limit = len(self._costs), self._limit
        if limit.kind == "steps":
            return f"step {done}/{limit.amount:.0f}"
        return f"step {done}, {limit.share(self._costs):.0%} of {amount(limit.amount)} {limit.kind}"

    def show(self, table: Table) -> None:
        """Something that stays on the screen as it is."""
        self._console.print(table)

    def _ordered(self, values: Mapping[str, float]) -> dict[str, float]:
        names = [name for name in self._modules if name in values]
        return {name: values[name] for name in [*names, *(n for n in values if n not in names)]}

    def _say(self, line: str) -> None:
        self._console.print(Text(f"[{duration(time.monotonic() - self._start):>7}] {line}"))

    def _render(self) -> Group:
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            Text(self._place(), style="bold"),
            ProgressBar(total=1.0, completed=self._limit.share(self._costs), width=30),
            Text(self._doing),
            Text(duration(time.monotonic() - self._start), style="dim"),
        )
        details = Table.grid(padding=(0, 2))
        for name, value in self._numbers:
            details.add_row(Text(name, style="dim"), Text(value))
        return Group(bar, details)
