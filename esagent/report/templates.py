"""The environment that the pages' templates are rendered in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def page_environment(filters: Mapping[str, Any]) -> Environment:
    """Templates of this package: everything is escaped, and a name that a page lacks is an error."""
    environment = Environment(
        loader=PackageLoader("esagent.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= filters
    return environment
