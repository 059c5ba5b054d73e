"""Short numbers for tables and progress lines."""

from __future__ import annotations

import math


def duration(seconds: float | None) -> str:
    """9s, 2m 05s, 3h 10m; '-' when unknown."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02d}m"


def number(value: float | None, signed: bool = False) -> str:
    """Three decimals; '-' when missing or not finite."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def amount(value: float | None, unit: str = "") -> str:
    """1234 -> 1.2k, 5e6 -> 5.0M; '-' when missing."""
    if value is None or not math.isfinite(value):
        return "-"
    for limit, suffix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if suffix == 'k' else limit):.1f}{suffix}{unit}"
    return f"{value:.0f}{unit}"


def per_module(values: dict[str, float]) -> str:
    """`planner 1 caller 0.5`, or `1 each` where all are equal."""
    distinct = set(values.values())
    if len(distinct) == 1 and len(values) > 1:
        return f"{distinct.pop():.4g} each"
    return " ".join(f"{name} {value:.4g}" for name, value in values.items()) or "-"


def age(seconds: float | None) -> str:
    """now, 5m, 3h, 12d: how long ago in one unit; '-' when unknown."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "now"


def size(count: int) -> str:
    """Bytes: 812 B, 3.4 kB, 1.2 MB."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def trained_on(objective: str | None) -> str:
    """An objective in words, "" when it is not known."""
    known = {"reward": "reward", "likelihood": "log-likelihood of gold outputs (supervised)"}
    return known.get(objective or "", objective or "")
