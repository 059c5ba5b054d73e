"""The plan for people: the composed settings, what they cost, and what other ways to train the same model would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from esagent.config.export import to_dict
from esagent.config.schema import Config, Objective
from esagent.plan.cost import Plan
from esagent.report.text import size


def describe(config: Config, cost: Plan) -> str:
    """The composed configuration (YAML), then the cost."""
    from omegaconf import OmegaConf

    head = OmegaConf.to_yaml(OmegaConf.create(to_dict(config)))
    rows = "".join(f"  {name:<22}{value}\n" for name, value in _rows(config, cost))
    return f"{head}\nPlan (nothing was run)\n{rows}{_comparison(cost)}"


def _rows(config: Config, cost: Plan) -> Iterator[tuple[str, str]]:
    found = ", ".join(cost.blocks) if len(cost.blocks) <= 8 else f"{len(cost.blocks)}, {cost.blocks[0]} and on"
    yield "blocks", f"{found or _unknown_blocks(config)} ({_count(cost.searched_numbers).strip()} numbers)"
    kind, amount = cost.budget["kind"], cost.budget["amount"]
    if kind == "steps":
        yield "budget", f"{amount:g} steps"
    else:
        about = "" if kind == "episodes" else "about "
        yield "budget", f"{_count(amount).strip()} {kind}: {about}{_whole(cost.steps)} steps"
    yield "members per step", f"{cost.members}"
    yield "directions per block", f"{cost.directions:g} per step"
    training = "training" if config.objective is Objective.reward else "training (gold outputs, scored)"
    before = cost.calibration
    also = f", about {before.episodes:,} calibration" if before else ""
    yield (
        "episodes",
        f"{_whole(cost.training_episodes)} {training}, {_whole(cost.evaluation_episodes)} evaluation{also}",
    )
    if before:
        share = f"{_count(before.flops)}FLOP and {_duration(before.seconds)} of the below"
        yield "calibration", f"about {before.requests:,} requests, {share}"
    yield "requests", _whole(cost.requests)
    yield "tokens", f"{_count(cost.tokens)} asked for, {_count(cost.computed_tokens)} computed after sharing"
    noise = f", {_count(cost.noise_numbers)} numbers of noise" if cost.noise_numbers else ""
    yield "compute", f"{_count(cost.flops)}FLOP, {_count(cost.step_flops)}FLOP a step{noise}"
    yield "memory", _parts(cost.memory_bytes)
    yield "disk", _parts(cost.disk_bytes)
    yield "time", f"{_duration(cost.seconds)} at {_count(cost.flops_per_second)}FLOP/s ({cost.rate_source})"


def _unknown_blocks(config: Config) -> str:
    return "those of your agent" if config.space.partition == "module" else "those of the model's names"


def _comparison(cost: Plan) -> str:
    """A table of this run beside ES and GRPO by the papers' models; nothing for a model of unknown sizes."""
    if not cost.baselines or not cost.step_flops:
        return ""
    own = sum(value or 0 for value in cost.memory_bytes.values())
    rows = [("", "memory", "and per 1,000 tokens", "FLOP per step", "relative")]
    rows.append(("this run", size(own), "", _count(cost.step_flops).strip(), "1"))
    for other in cost.baselines:
        rows.append(
            (
                other.name,
                size(round(other.memory_bytes)),
                size(round(1000 * other.token_bytes)),
                _count(other.step_flops).strip(),
                f"{other.step_flops / cost.step_flops:.3g}",
            )
        )
    about = (
        f"\nBeside training by gradients: the same model, trajectories of {cost.trajectory_tokens:,} tokens of which "
        f"{cost.longest_tokens} are kept at once\n"
    )
    note = (
        "  ES and GRPO by the papers' models: 2 P and 8 P FLOP a token; weights, gradients, moments, and activations "
        "of one trajectory.\n  A run cuts its batches to the memory there is: kv_cache shrinks, the rest must fit.\n"
    )
    return about + _aligned(rows) + note


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  " + "   ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _whole(value: int | None) -> str:
    return "an unknown number of" if value is None else f"{value:,}"


def _count(value: float | None) -> str:
    """1.2M and the like; "an unknown number of " when it is not known."""
    if value is None:
        return "an unknown number of "
    for limit, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.1f} {unit}"
    return f"{value:g} "


def _parts(parts: dict[str, int | None]) -> str:
    known = sum(value or 0 for value in parts.values())
    each = ", ".join(f"{name} {'unknown' if value is None else size(value)}" for name, value in parts.items())
    return f"{size(known)} ({each})"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
