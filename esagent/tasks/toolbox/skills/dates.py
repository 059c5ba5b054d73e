"""Calendar: days between dates, a date some days later, the day of the week."""

from __future__ import annotations

import datetime

from esagent.tasks.toolbox.draw import Draw
from esagent.tasks.toolbox.skill import Drawn, Follow, Level, Start

MOST_DAYS = 5000
"""Largest earlier result that a chain adds to a date."""


def _days(draw: Draw, level: Level) -> Drawn:
    start = draw.date(days=360)
    end = draw.later(start, level.span)
    values = {"start": start.isoformat(), "end": end.isoformat()}
    return Drawn(values, values, carriers=("days",))


def _date(draw: Draw, level: Level) -> Drawn:
    values = {"start": draw.date().isoformat(), "days": draw.number(2, level.span)}
    return Drawn(values, values)


def _weekday(draw: Draw, level: Level) -> Drawn:
    values = {"date": draw.date().isoformat()}
    return Drawn(values, values)


def _date_after(draw: Draw, level: Level, marker: str, result: str) -> Drawn | None:
    if not result.isdecimal() or not 1 < int(result) <= MOST_DAYS:
        return None
    start = draw.date().isoformat()
    return Drawn({"start": start, "days": marker}, {"start": start})


def _days_until(draw: Draw, level: Level, marker: str, result: str) -> Drawn | None:
    end = draw.date()
    if end <= datetime.date.fromisoformat(result):
        return None
    return Drawn({"start": marker, "end": end.isoformat()}, {"end": end.isoformat()}, carriers=("days",))


STARTS = (
    Start(
        "days.between",
        "days",
        "number",
        _days,
        questions={
            "train": (
                "How many days are there from {start} to {end}?",
                "How many days lie between {start} and {end}?",
                "Count the days from {start} to {end}.",
                "A trip starts on {start} and ends on {end}. How many days does it last?",
                "Today is {start}. How many days are left until {end}?",
                "Please count the days between {start} and {end}.",
                "I leave on {start} and come back on {end}. How many days am I away?",
                "How many days go by between {start} and {end}?",
                "I need the days from {start} to {end}.",
            ),
            "validation": (
                "Give the number of days from {start} until {end}.",
                "It is {start} now. In how many days is it {end}?",
            ),
            "heldout": (
                "A course runs from {start} to {end}. How many days does it take?",
                "What is the number of days between {start} and {end}?",
                "How many days pass from {start} to {end}?",
                "Work out the number of days from {start} to {end}.",
            ),
        },
        clauses={
            "train": ("count the days from {start} to {end}",),
            "validation": ("find the number of days from {start} until {end}",),
            "heldout": (
                "work out how many days pass from {start} to {end}",
                "see how long it is from {start} to {end}",
            ),
        },
    ),
    Start(
        "date.after",
        "date",
        "date",
        _date,
        questions={
            "train": (
                "Which date is {days} days after {start}?",
                "What date is it {days} days after {start}?",
                "Add {days} days to {start}. Which date is that?",
                "A trip starts on {start} and lasts {days} days. On which date does it end?",
            ),
            "validation": (
                "Give the date {days} days later than {start}.",
                "It is {start}. What is the date in {days} days?",
            ),
            "heldout": (
                "A bill of {start} must be paid within {days} days. What is the last date for that?",
                "Start at {start} and go {days} days forward. Which date do you reach?",
                "On {start} a pot is planted and blooms {days} days later. On which date?",
            ),
        },
        clauses={
            "train": ("find the date {days} days after {start}",),
            "validation": ("find the date {days} days later than {start}",),
            "heldout": ("go {days} days forward from {start}", "move {days} days on from {start}"),
        },
    ),
    Start(
        "weekday.of",
        "weekday",
        "final",
        _weekday,
        questions={
            "train": (
                "What day of the week is {date}?",
                "Which weekday is {date}?",
                "On which day of the week does {date} fall?",
                "Name the weekday of {date}.",
            ),
            "validation": ("Give the day of the week of {date}.", "Is {date} a Monday, a Tuesday, or which day?"),
            "heldout": (
                "The party is on {date}. Which day of the week will that be?",
                "Someone was born on {date}. What weekday was it?",
                "Tell me the name of the day that {date} falls on.",
            ),
        },
        clauses={
            "train": ("name the weekday of {date}",),
            "validation": ("find the day of the week of {date}",),
            "heldout": ("see which weekday {date} is",),
        },
    ),
)

FOLLOWS = (
    Follow(
        "date.that_many",
        "date",
        "number",
        "date",
        _date_after,
        clauses={
            "train": ("find the date that many days after {start}",),
            "validation": ("find the date that is so many days later than {start}",),
            "heldout": ("go that many days forward from {start}",),
        },
    ),
    Follow(
        "weekday.it",
        "weekday",
        "date",
        "final",
        lambda draw, level, marker, result: Drawn({"date": marker}, {}),
        clauses={
            "train": ("name its weekday", "find the weekday of that date"),
            "validation": ("find the day of the week it falls on",),
            "heldout": ("see which weekday it is",),
        },
    ),
    Follow(
        "days.until",
        "days",
        "date",
        "number",
        _days_until,
        clauses={
            "train": ("count the days from it to {end}",),
            "validation": ("find the number of days from it until {end}",),
            "heldout": ("work out how many days pass from then to {end}",),
        },
    ),
)
