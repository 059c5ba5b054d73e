"""sigma falls while the step does not: where rewards are shaped to one size, the end of the run is a random walk.

With sigma -> 0 the members become equal, what is left of their rewards' differences is chance, and a z-score, ranks or
a normalised estimate make full steps of it. The step in units of what was looked at,

    q_t = (alpha_t / sigma_t) / (alpha_0 / sigma_0)

tells: constant where the step follows sigma, 2 at the end of a run whose sigma is halved.
"""

from __future__ import annotations

from collections.abc import Iterator

from esagent.config.limits import known_steps
from esagent.config.schema import Control
from esagent.guards.finding import Finding
from esagent.guards.spread import amplifies
from esagent.guards.subject import Subject

NAME = "schedule"
WALK, LONG = 10.0, 4.0
"""Growth of the step over sigma that makes a fault, and a note."""


def schedule(subject: Subject) -> Iterator[Finding]:
    """figure: the largest q_t of any block; infinite where sigma reaches 0."""
    config, steps = subject.config, known_steps(subject.config)
    if not steps or config.algorithm.control is Control.frozen:
        return
    grown, first = _growth(subject, steps)
    without = [step for step in range(steps) if not any(subject.parts.scales.at(step, steps)[0].values())]
    if without:
        yield Finding(
            NAME,
            "fault",
            f"sigma is 0 in {len(without)} of {steps} steps, from step {without[0]} on: their members are all equal",
            "end the schedule above 0 (sigma.end)",
            float("inf"),
        )
    elif grown > LONG and (amplifies(config) or config.algorithm.divide_by_sigma):
        yield Finding(
            NAME,
            "fault" if grown > WALK else "note",
            f"the step grows {grown:.3g}-fold over sigma (from step {first} more than {LONG:g}-fold) while rewards are "
            "shaped to one size: the end of the run is a random walk",
            "let the step follow (algorithm.step_follows=sigma), decay it along (algorithm.step), or raise sigma.end",
            grown,
        )
    else:
        yield Finding(NAME, "ok", f"the step over sigma grows {grown:.3g}-fold at most", "", grown)


def _growth(subject: Subject, steps: int) -> tuple[float, int]:
    """The largest q_t after the warm-up, and the first step in which it is above `LONG`."""
    begin = max(subject.config.sigma.warmup, subject.config.algorithm.step.warmup)
    start: dict[str, float] = {}
    most, first = 1.0, steps
    for step in range(min(begin, steps - 1), steps):
        sigma, sizes = subject.parts.scales.at(step, steps)
        ratios = {name: sizes[name] / value for name, value in sigma.items() if value > 0 and sizes[name] > 0}
        start = {**ratios, **start}
        q = max((ratio / start[name] for name, ratio in ratios.items()), default=1.0)
        most = max(most, q)
        if q > LONG:
            first = min(first, step)
    return most, first
