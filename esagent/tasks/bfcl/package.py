"""The files of the `bfcl-eval` package: data to read, and the classes of its API simulators.

The package is installed without its dependencies and found by its list of files. Its code is left alone, but for the
modules of the simulators: they import the standard library, mpmath (MathAPI) and each other.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

from esagent.errors import EnvironmentFailure

PACKAGE, VERSION = "bfcl-eval", "2026.3.23"
INSTALL = f"pip install --no-deps {PACKAGE}=={VERSION}"

_FIRST = "bfcl_eval/data/BFCL_v4_simple_python.json"
_SIMULATORS = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"

APIS = {
    "TradingBot": "trading_bot",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
    "TwitterAPI": "posting_api",
}
"""Simulated APIs: the class, and the name of its module and of the file that describes its functions."""


@functools.cache
def data_folder() -> Path:
    """The data of the installed package.

    Raises EnvironmentFailure, one line with the command that installs it, when it is not there or of another version:
    the splits and the list of bad rows are those of one version.
    """
    try:
        package = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise EnvironmentFailure(f"task=bfcl needs the data of {PACKAGE}, which is not installed: {INSTALL}") from None
    if package.version != VERSION:
        raise EnvironmentFailure(f"task=bfcl needs {PACKAGE} {VERSION}, not {package.version}: {INSTALL}")
    for file in package.files or ():
        path = Path(str(file.locate()))
        if file.as_posix() == _FIRST and path.is_file():
            return path.parent
    raise EnvironmentFailure(f"task=bfcl: the data of {PACKAGE} {VERSION} are missing from its folder: {INSTALL}")


def read_rows(file: str) -> list[dict[str, Any]]:
    """The rows of a file of `data_folder()`, JSON objects. Raises EnvironmentFailure when it cannot be read."""
    try:
        lines = (data_folder() / file).read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise EnvironmentFailure(f"task=bfcl: {file} of {PACKAGE} cannot be read ({error}): {INSTALL}") from error


@functools.cache
def simulator(api: str) -> type:
    """The class that simulates `api`. Raises EnvironmentFailure when it cannot be loaded."""
    try:
        found: type = getattr(importlib.import_module(f"{_SIMULATORS}.{APIS[api]}"), api)
    except (ImportError, AttributeError) as error:
        raise EnvironmentFailure(f"task=bfcl: the simulator {api} cannot be loaded ({error}): {INSTALL}") from error
    return found
