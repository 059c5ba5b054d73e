"""The vocabulary of plans: one short phrase per tool. A planner answers with phrases separated by ", "."""

from __future__ import annotations

STEPS: dict[str, str] = {
    "calculator": "calculate",
    "convert": "convert units",
    "days": "count days",
    "date": "find date",
    "weekday": "find weekday",
    "lookup": "look up",
    "text": "edit text",
    "list": "use list",
}
"""Tool -> the phrase of a step that needs it."""


def normal_step(phrase: str) -> str:
    """A phrase as it is compared: lower case, single spaces, no point at the end."""
    return " ".join(phrase.casefold().split()).rstrip(".")
