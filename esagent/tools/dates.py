"""days(start, end), date(start, days), weekday(date): calendar arithmetic on dates written YYYY-MM-DD."""

from __future__ import annotations

import calendar
import datetime

from esagent.tools.base import Parameter, Tool, ToolError
from esagent.tools.values import date, described, integer

MAX_DAYS = 100_000

_DATE = described("string", "YYYY-MM-DD")


def _add(start: datetime.date, days: int) -> str:
    if abs(days) > MAX_DAYS:
        raise ToolError(f"at most {MAX_DAYS} days can be added")
    try:
        return (start + datetime.timedelta(days=days)).isoformat()
    except OverflowError as error:
        raise ToolError("the date is outside the years 1 to 9999") from error


DAYS = Tool(
    name="days",
    description="Count the days from one date to another.",
    parameters={"start": Parameter(_DATE, date), "end": Parameter(_DATE, date)},
    function=lambda start, end: str((end - start).days),
)

DATE = Tool(
    name="date",
    description="Find the date that lies a number of days after a date.",
    parameters={
        "start": Parameter(_DATE, date),
        "days": Parameter(described("integer", "days to add; negative goes back"), integer),
    },
    function=_add,
)

WEEKDAY = Tool(
    name="weekday",
    description="Name the day of the week of a date.",
    parameters={"date": Parameter(_DATE, date)},
    function=lambda day: calendar.day_name[day.weekday()],
)
