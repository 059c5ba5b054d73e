"""Every skill of the family, one file per group of tools."""

from __future__ import annotations

from esagent.tasks.toolbox.skill import Follow, Start
from esagent.tasks.toolbox.skills import calculator, convert, dates, lists, lookup, text

STARTS: dict[str, Start] = {
    skill.name: skill for module in (calculator, convert, dates, lookup, text, lists) for skill in module.STARTS
}
FOLLOWS: dict[str, Follow] = {
    skill.name: skill for module in (calculator, convert, dates, lookup, text, lists) for skill in module.FOLLOWS
}
