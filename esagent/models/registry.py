"""From `model=...` to a local folder with everything in it: the embedded model, a hub id, or a folder of one's own."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from esagent.config.files import is_folder, user_path
from esagent.config.schema import ModelConfig
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.models.catalog import CATALOG, Architecture, architecture_of_folder, lookup
from esagent.models.embedded import embedded_folder
from esagent.models.hub import cached, download
from esagent.models.weights import missing, weights_sha256

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


@dataclass(frozen=True)
class ResolvedModel:
    """A complete model folder on this machine.

    revision: the hub's commit where it came from there, else None.
    hash: SHA-256 over the weight files; two runs with equal hashes started from the same weights.
    """

    name: str
    folder: Path
    revision: str | None
    hash: str


def place(config: ModelConfig) -> tuple[str, str]:
    """Where the configured model is to be found: ("embedded", name), ("folder", path) or ("hub", id).

    `source` decides unless it is left at `embedded`; then `name` may be a known name, a hub id or a folder itself.
    Raises ConfigError for anything else, naming the nearest known model.
    """
    if config.source == "none":
        raise ConfigError("model=none: there is no model; it is for task=synthetic alone")
    wanted = config.name if config.source == "embedded" else config.source
    if wanted in CATALOG:
        entry = CATALOG[wanted]
        return ("embedded", wanted) if entry.embedded else ("hub", entry.hub_id)
    if is_folder(wanted) or wanted.startswith(("/", "./", "../", "~")):
        return "folder", wanted
    if _HUB_ID.fullmatch(wanted):
        return "hub", wanted
    near = difflib.get_close_matches(wanted, CATALOG, n=1, cutoff=0.3)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ConfigError(
        f"model: unknown model {wanted!r}; {hint}known: {', '.join(CATALOG)}, a hub id or a folder in model.source"
    )


def resolve(config: ModelConfig) -> ResolvedModel:
    """Find the model, fetching it if need be, and check that it is complete.

    Raises ConfigError for a name that means nothing, EnvironmentFailure for a model that is absent and cannot be had.
    """
    kind, where = place(config)
    revision = None
    if kind == "embedded":
        folder = embedded_folder()
    elif kind == "folder":
        folder = user_path(where).resolve()
        if not is_folder(folder):
            raise EnvironmentFailure(f"model folder {where} does not exist")
    else:
        folder = cached(where, config.revision) or download(where, config.revision)
        revision = folder.name
    absent = missing(folder)
    if absent:
        raise EnvironmentFailure(f"model folder {folder} is incomplete: {', '.join(absent)} missing")
    return ResolvedModel(config.name, folder, revision, weights_sha256(folder))


def architecture(config: ModelConfig) -> Architecture | None:
    """The model's sizes without fetching anything; None for a model that is neither known nor whole on this machine.

    Raises ConfigError for a folder whose files are not those of a language model.
    """
    if config.source == "none":
        return None
    kind, where = place(config)
    if kind != "folder" and (known := lookup(where)):
        return known.architecture
    folder = cached(where, config.revision) if kind == "hub" else user_path(where)
    if not folder or missing(folder):
        return None
    try:
        return architecture_of_folder(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"model.source={where}: holds no causal language model that can be read ({type(error).__name__}: {error})"
        ) from error
