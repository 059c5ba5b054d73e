"""Models of the hub: first what is already on this machine, then one short question to the network."""

from __future__ import annotations

from pathlib import Path

from esagent.errors import EnvironmentFailure
from esagent.models.weights import missing

TIMEOUT = 5.0
"""Seconds to wait for the hub's first answer before a model counts as unreachable."""

PATTERNS = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
"""Configuration, weights, tokenizer and template; not the other formats in which a repository repeats its weights."""


def cached(hub_id: str, revision: str | None) -> Path | None:
    """The folder of a hub model that is complete on this machine, or None. Never touches the network."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(hub_id, revision=revision, allow_patterns=PATTERNS, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    return None if missing(folder) else folder


def download(hub_id: str, revision: str | None) -> Path:
    """Fetch a hub model and return its folder.

    Raises EnvironmentFailure in one line, within seconds when there is no network, saying what would fetch the model.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HTTPError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        HfApi().model_info(hub_id, revision=revision, timeout=TIMEOUT)  # asks once, where a download tries for minutes
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=PATTERNS, etag_timeout=TIMEOUT))
    except GatedRepoError:
        reason = "its licence has to be accepted on the hub first, and `hf auth login` run here"
    except RevisionNotFoundError:
        reason = f"it has no revision {revision!r}"
    except RepositoryNotFoundError:
        reason = "the hub has no model of that name that you may read"
    except (HTTPError, OSError) as error:
        reason = f"the hub cannot be reached ({type(error).__name__})"
    raise EnvironmentFailure(
        f"model {hub_id} is not on this machine and could not be fetched: {reason}; "
        f"where there is a network run `hf download {hub_id}`, or point model.source to a local folder"
    )
