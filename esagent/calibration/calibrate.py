"""sigma=auto: so large that a chosen share of greedy completions changes, while outputs stay valid.

    changed(s)   share of the centre's requests that members at +-s eps answer otherwise, asked the very same
    valid(s)     logits are finite, and the members' mean reward and the mean signals of the modules that are perturbed
                 are at least `keep` times the centre's
    sigma        the s whose share is nearest to the target; where it is not valid, the largest s / sqrt(2)^k that is

With per=block every block is taken by itself. Where the allocation perturbs several at once, one more factor on all of
them is found for the members as it makes them. With per=all there is that one factor alone, on `sigma.modules`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from esagent.allocation.base import Evidence
from esagent.assemble import Parts
from esagent.calibration.probes import Earned, Group, Probes
from esagent.calibration.search import START, Search
from esagent.config.schema import Config, Per, SigmaConfig
from esagent.core.noise import key, permutation
from esagent.errors import RunError
from esagent.evaluate import spent

TOGETHER = "together"
SHRINK = math.sqrt(2.0)
MOST_SHRINKS = 16


@dataclass(frozen=True)
class Found:
    """What was chosen for a block, or as a factor on all of them (TOGETHER), and why.

    changed, reward: at this sigma; None where nothing was measured.
    """

    name: str
    sigma: float
    changed: float | None
    reward: float | None
    why: str


@dataclass(frozen=True)
class Trial:
    """One sigma tried. reward, valid: None where no episodes were run with it."""

    name: str
    sigma: float
    changed: float
    reward: float | None = None
    valid: bool | None = None


@dataclass
class _Log:
    base: float = 0.0
    trials: list[Trial] = field(default_factory=list)


def calibrate(parts: Parts, config: Config) -> dict[str, Any]:
    """Find sigma around the backend's present state, on tasks of the training pool alone; plain data.

    `sigma` is that of every block at a schedule value of 1. Deterministic, given the same completions. Raises RunError
    when outputs are valid at no sigma, or no request reaches any block.
    """
    started, before = time.monotonic(), parts.backend.cost()
    settings, pool = config.sigma, parts.pools.pool
    chosen = permutation(key("calibration tasks", config.seed), len(pool))[: settings.tasks]
    tasks = [pool[i] for i in chosen]
    probes = Probes(parts, tasks, config.space.modules or parts.agent.modules, config.seed)
    log = _Log()
    found: list[Found] = []
    sigma = dict(parts.scales.factors)
    if settings.per is Per.block:
        alone = [Group(block, ({block: 1.0},) * settings.probes) for block in sigma]
        found = _with_unasked(_find(probes, alone, settings, START, log))
        sigma = {choice.name: choice.sigma for choice in found}
    directions = _directions(parts, sigma, settings.probes)
    if settings.per is Per.all or any(len(direction) > 1 for direction in directions):
        start = START if settings.per is Per.all else 1.0
        (factor,) = _with_unasked(_find(probes, [Group(TOGETHER, directions)], settings, start, log))
        found.append(factor)
        sigma = {block: factor.sigma * value for block, value in sigma.items()}
    return {
        "target": settings.target,
        "per": settings.per,
        "keep": settings.keep,
        "tasks": [task.id for task in tasks],
        "base_reward": log.base,
        "sigma": sigma,
        "found": [asdict(choice) for choice in found],
        "trials": [asdict(trial) for trial in log.trials],
        "episodes": probes.episodes,
        "cost": spent(before, parts.backend.cost()),
        "seconds": time.monotonic() - started,
    }


def _directions(parts: Parts, sigma: Mapping[str, float], probes: int) -> tuple[Mapping[str, float], ...]:
    """As the run's allocation makes them, at least one for every block."""
    allocation = parts.allocator.allocate(
        step=0,
        blocks=parts.backend.blocks(),
        directions=max(probes, len(sigma)),
        sigma=sigma,
        evidence=Evidence(),
    )
    return allocation.directions


def _find(probes: Probes, groups: Sequence[Group], settings: SigmaConfig, start: float, log: _Log) -> list[Found]:
    """A sigma for each group, all searched for side by side: a round is one batch."""
    reached = [group for group in groups if probes.asked(group)]
    searches = {group.name: Search(settings.target, start) for group in reached}
    while True:
        tried = [(group, s) for group in reached if (s := searches[group.name].next) is not None]
        if not tried:
            break
        for (group, sigma), share in zip(tried, probes.changed(tried), strict=True):
            searches[group.name].tell(share)
            log.trials.append(Trial(group.name, sigma, share))
    chosen = {found.name: found for found in _validated(probes, reached, searches, settings, log)}
    unasked = "the unperturbed agent asks nothing of it on these tasks"
    return [chosen.get(group.name, Found(group.name, math.nan, None, None, unasked)) for group in groups]


def _validated(
    probes: Probes, groups: Sequence[Group], searches: Mapping[str, Search], settings: SigmaConfig, log: _Log
) -> list[Found]:
    """The best sigma of each search, made smaller until its members' outputs are valid."""
    sigma = {group.name: searches[group.name].best for group in groups}
    share = {name: searches[name].tried[value] for name, value in sigma.items()}
    why = {name: _reason(searches[name]) for name in sigma}
    found: dict[str, Found] = {}
    left = list(groups)
    for _ in range(MOST_SHRINKS + 1):
        if not left:
            break
        base, earned = probes.earned([(group, sigma[group.name]) for group in left])
        log.base = base.reward
        outcome = {group.name: (e, _fault(e, base, settings.keep)) for group, e in zip(left, earned, strict=True)}
        for name, (e, fault) in outcome.items():
            log.trials.append(Trial(name, sigma[name], share[name], e.reward, not fault))
            if not fault:
                found[name] = Found(name, sigma[name], share[name], e.reward, why[name])
        left = [group for group in left if outcome[group.name][1]]
        for group in left:
            name = group.name
            why[name] = f"the largest with valid outputs: at {sigma[name]:.3g} {outcome[name][1]}"
            sigma[name] /= SHRINK
        shares = probes.changed([(group, sigma[group.name]) for group in left]) if left else []
        share |= {group.name: value for group, value in zip(left, shares, strict=True)}
    if left:
        raise RunError(
            f"sigma=auto: no sigma down to {sigma[left[0].name]:.3g} gives valid outputs for {left[0].name} "
            f"({outcome[left[0].name][1]}); set it by hand, as in sigma=constant sigma.start=0.1"
        )
    return [found[group.name] for group in groups]


def _reason(search: Search) -> str:
    if search.reached:
        return "changes the wanted share"
    share = search.tried[search.best]
    if all(other < search.target for other in search.tried.values()):
        return f"no sigma up to {max(search.tried):.3g} changes more"
    if all(other > search.target for other in search.tried.values()):
        return f"no sigma down to {min(search.tried):.3g} changes less"
    return f"nearest to the wanted share: none of {len(search.tried)} tried came nearer than {share:.0%}"


def _fault(earned: Earned, base: Earned, keep: float) -> str:
    """What is not valid about members that earned so much; "" when nothing is."""
    if not earned.finite:
        return "logits are not finite"
    if earned.reward < keep * base.reward:
        return f"members earn {earned.reward:.2f}, less than {keep:g} of the centre's {base.reward:.2f}"
    for module, signal in earned.signals.items():
        if signal < keep * base.signals.get(module, 0.0):
            return f"{module} is right in {signal:.2f}, less than {keep:g} of the centre's {base.signals[module]:.2f}"
    return ""


def _with_unasked(found: Sequence[Found]) -> list[Found]:
    """Blocks that were not reached get the geometric mean of the others. Raises RunError when there is no other."""
    known = [choice.sigma for choice in found if not math.isnan(choice.sigma)]
    if not known:
        raise RunError(
            "sigma=auto: on these tasks the unperturbed agent asks no module that is searched; raise sigma.tasks"
        )
    mean = math.exp(sum(map(math.log, known)) / len(known))
    return [
        choice
        if not math.isnan(choice.sigma)
        else Found(choice.name, mean, None, None, f"{choice.why}; the geometric mean of the others")
        for choice in found
    ]
