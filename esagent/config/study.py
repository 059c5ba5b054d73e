"""A preregistered study: hypotheses, metric, margin, family, seeds and exclusion rules, in one YAML file.

`study=FILE` stamps the file's name and SHA-256 into the manifest of a run before it starts. `esagent stats --study
FILE` then judges the hypotheses by the runs, and tells when the file is not the one that they were started under.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from esagent.config.files import user_path
from esagent.errors import ConfigError

METRICS = ("auc", "final", "heldout")
CLAIMS = ("better", "worse", "no_better", "no_worse", "different", "equivalent", "linear")
WITH_MARGIN = ("no_better", "no_worse", "equivalent")
"""Claims that need a margin, the study's unless they have one of their own; for the others it is 0."""
TESTS = ("sign_flip", "t")
RULES = ("unfinished", "fork", "base_below", "base_above", "unscored_above")
FAMILY = "main"


@dataclass(frozen=True)
class Hypothesis:
    """A claim about the paired differences of `arms` to `against`; with several arms it is about every one of them.

    better, worse: mean difference above margin, below -margin. no_better, no_worse: below margin, above -margin.
    different: outside [-margin, margin]. equivalent: inside. linear: what arms lose to `against` rises with `x`
    {arm: number} along a line of at least that R^2.
    """

    id: str
    claim: str
    arms: tuple[str, ...]
    against: str
    metric: str
    margin: float
    family: str
    x: Mapping[str, float] = field(default_factory=dict)
    r_squared: float = 0.0


@dataclass(frozen=True)
class Study:
    """path: as it was given; sha256: of the file's bytes, what `sha256sum FILE` prints.

    arms: {label: {dotted setting: value}}; a run belongs to an arm when it has all these settings. exclude:
    {rule: threshold}, the threshold 0 for rules without one.
    """

    name: str
    path: str
    sha256: str
    metric: str
    alpha: float
    margin: float | None
    seeds: tuple[int, ...]
    test: str
    baseline: str
    arms: Mapping[str, Mapping[str, Any]]
    exclude: Mapping[str, float]
    hypotheses: tuple[Hypothesis, ...]

    @property
    def stamp(self) -> dict[str, str]:
        """What goes into the manifest of a run."""
        return {"name": self.name, "file": self.path, "sha256": self.sha256}

    def arms_of(self, settings: Mapping[str, Any]) -> list[str]:
        """The arms that a run with these settings, {dotted path: value}, belongs to."""
        return [
            label
            for label, own in self.arms.items()
            if all(path in settings and _same(settings[path], value) for path, value in own.items())
        ]

    @property
    def families(self) -> dict[str, list[Hypothesis]]:
        """The hypotheses by family; Holm corrects within one."""
        found: dict[str, list[Hypothesis]] = {}
        for hypothesis in self.hypotheses:
            found.setdefault(hypothesis.family, []).append(hypothesis)
        return found


def dotted(settings: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """{"space": {"rank": 8}} as {"space.rank": 8}."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat |= dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat


def _same(one: Any, other: Any) -> bool:
    """1 and 1.0 are the same setting, 1 and true are not."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


class _Loader(yaml.SafeLoader):
    """A key that comes twice is an error: otherwise the later of two hypotheses would silently stand for both."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = sorted({name for name in names if names.count(name) > 1 and name != "<<"})
        if twice:
            raise yaml.constructor.ConstructorError(problem=f"{twice[0]} stands there twice")
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


def load_study(text: str | Path) -> Study:
    """The study in a file. Raises ConfigError with one line for every mistake in it."""
    from esagent.config.studycheck import parse_study

    path = user_path(text)
    try:
        content = path.read_bytes()
        data = yaml.load(content.decode(), _Loader)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigError(f"study={text}: cannot be read ({reason}); name a YAML file") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"study={text}: is no YAML ({' '.join(str(error).split())})") from error
    try:
        return parse_study(data, str(text), hashlib.sha256(content).hexdigest())
    except ConfigError as error:
        raise ConfigError(*(f"study={text}: {problem}" for problem in error.problems)) from error
