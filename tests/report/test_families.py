"""Rows about families: of what they say of themselves, and of those that say nothing."""

from __future__ import annotations

from rich.console import Console

from esagent.report.families import families_table, family_rows
from esagent.tasks.about import About


class Silent:
    """Tasks about silence.

    More of it.
    """


class Nameless:
    pass


class Lacking:
    about = About(
        "tasks", "a package", "Apache 2.0", ("easy",), {"train": "10", "heldout": "4"}, lambda: "pip install it"
    )


def test_a_family_that_says_nothing_is_listed_by_its_description() -> None:
    silent, nameless = family_rows({"silent": Silent, "nameless": Nameless})
    assert silent["summary"] == "Tasks about silence."
    assert (silent["installed"], silent["splits"], silent["levels"], silent["source"]) == (True, {}, [], "")
    assert nameless["summary"] == ""


def test_what_is_missing_is_told() -> None:
    (row,) = family_rows({"lacking": Lacking})
    assert (row["installed"], row["missing"], row["licence"]) == (False, "pip install it", "Apache 2.0")
    console = Console(width=120, record=True)
    console.print(families_table([row, *family_rows({"silent": Silent})]))
    text = console.export_text()
    for part in ("pip install it", "train 10", "heldout 4", "Tasks about", "there"):
        assert part in text
