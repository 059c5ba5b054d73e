"""How arms and modules are told apart in figures: by dash, marker and hatch as well as by colour.

The colours are those of Okabe and Ito (2008, "Color universal design"), which people with any common colour blindness
tell apart; yellow is left out, for it vanishes on white.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Look(NamedTuple):
    """Of one series: colour, line style of matplotlib, marker, and hatch of its areas and bars."""

    colour: str
    dash: Any
    marker: str
    hatch: str


LOOKS: Sequence[Look] = (
    Look("#000000", "-", "o", ""),
    Look("#0072b2", "--", "s", "///"),
    Look("#d55e00", ":", "D", "\\\\\\"),
    Look("#009e73", "-.", "^", "..."),
    Look("#cc79a7", (0, (5, 1, 1, 1, 1, 1)), "v", "xxx"),
    Look("#e69f00", (0, (1, 1)), "P", "+++"),
    Look("#56b4e9", (0, (8, 2)), "X", "---"),
)


def look(place: int) -> Look:
    """The look of series number `place`; they come round again."""
    return LOOKS[place % len(LOOKS)]


def tidy(axes: Any, title: str = "") -> None:
    """A light grid, two spines, and the title at the left."""
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if title:
        axes.set_title(title, fontsize=9.5, loc="left")
