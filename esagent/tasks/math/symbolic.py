"""gsm_symbolic of reasoning-gym (Apache-2.0): its template functions alone, without the rest of the package.

The package pulls in a dozen others, one of which has to be compiled; the two files with the templates need only its
`utils`. So it is installed without its dependencies, and those files are loaded without running the package's own
start. Its scorer, which gives junk a hundredth, is not used. What a template returns is not trusted either: only sound
ones are used, and of these no variation whose answer is not a whole number or differs from its worked solution.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from esagent.core.noise import key, permutation
from esagent.errors import EnvironmentFailure
from esagent.tasks.base import Split

_BROKEN = (32, 35, 37, 61, 63, 65, 74, 76, 77, 79, 86, 87, 90, 97, 98)
"""Templates that the package itself keeps out."""

_ODD = (24, 27)
"""Templates that gave a negative count, or raised, in some of 200 variations."""

SOUND: tuple[int, ...] = tuple(sorted(set(range(100)) - set(_BROKEN) - set(_ODD)))
"""Numbers of the templates that are used."""

_PACKAGE = "reasoning_gym"
_FILES = ("generators_00_49", "generators_50_99")
_SOLUTION = re.compile(r"####\s*(.+?)\s*\Z")


class Symbolic:
    """The templates, 5 of 10 for train, 2 for validation and 3 for heldout. Raises EnvironmentFailure without them."""

    def __init__(self) -> None:
        self._make = _templates()
        order = [SOUND[at] for at in permutation(key("gsm_symbolic", "templates"), len(SOUND))]
        first, second = len(order) // 2, len(order) * 7 // 10
        self._kinds: Mapping[Split, Sequence[str]] = {
            "train": _names(order[:first]),
            "validation": _names(order[first:second]),
            "heldout": _names(order[second:]),
        }

    def kinds(self, split: Split) -> Sequence[str]:
        """The templates of a split, by number."""
        return self._kinds[split]

    def make(self, kind: str, seed: int) -> tuple[str, str] | None:
        """Question and answer of one template under a key; None where they are not sound."""
        return variation(self._make[int(kind)], seed)

    def __reduce__(self) -> tuple[type[Symbolic], tuple[()]]:
        return Symbolic, ()


def variation(make: Callable[[Random], Mapping[str, Any]], seed: int) -> tuple[str, str] | None:
    """Question and whole-number answer of a template's variation; None where it raises or contradicts itself."""
    try:
        made = make(Random(seed))
        question, answer = " ".join(made["question"].split()), str(made["answer"]).replace(",", "")
        worked = _SOLUTION.search(made["metadata"]["answer_cot"])
    except Exception:  # the package's own mistakes, of any kind: this variation is not used
        return None
    if not re.fullmatch(r"-?\d+", answer) or worked is None:
        return None
    return (question, answer) if _number(worked[1]) == float(answer) else None


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "").replace("$", ""))
    except ValueError:
        return None


def _names(numbers: Sequence[int]) -> Sequence[str]:
    return [str(number) for number in sorted(numbers)]


def _templates() -> Mapping[int, Callable[[Random], Mapping[str, Any]]]:
    """Template functions by number."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise EnvironmentFailure(
            "task.options.generators: gsm_symbolic needs a package; pip install --no-deps reasoning-gym==0.1.25"
        )
    folder = found.submodule_search_locations[0]
    before = set(sys.modules)
    if _PACKAGE not in before:
        # Names in which the files find `reasoning_gym.utils`; nothing of them stays.
        for part in ("", ".arithmetic", ".arithmetic.gsm_symbolic"):
            _shell(_PACKAGE + part, folder + part.replace(".", "/"))
    try:
        modules = [importlib.import_module(f"{_PACKAGE}.arithmetic.gsm_symbolic.{name}") for name in _FILES]
    except Exception as error:
        raise EnvironmentFailure(f"reasoning-gym: cannot load gsm_symbolic: {' '.join(str(error).split())}") from error
    finally:
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == _PACKAGE:
                del sys.modules[name]
    return {
        int(name.removeprefix("generate_")): value
        for module in modules
        for name, value in vars(module).items()
        if re.fullmatch(r"generate_\d+", name)
    }


def _shell(name: str, path: str) -> None:
    """A package of this name that lies at `path` and has not been started."""
    module = types.ModuleType(name)
    module.__path__ = [path]
    sys.modules[name] = module
