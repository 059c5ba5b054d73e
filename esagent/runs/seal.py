"""Checksums that say to which run a record belongs, so that another run's file is not taken for one's own.

A sealed record carries `checksum`, the SHA-256 over its owner's name and the canonical JSON of everything else in it.
The owner of a run's records is the checksum of its manifest, which in turn holds the settings: one chain from the
settings to every number. Seals find damage and mix-ups; they do not stop somebody who forges them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from esagent.runs.jsonio import canonical, plain


def sealed(body: Mapping[str, Any], owner: str = "") -> dict[str, Any]:
    """`body` as plain values with its `checksum`."""
    values = {key: value for key, value in plain(body).items() if key != "checksum"}
    return values | {"checksum": _checksum(values, owner)}


def is_sound(record: Any, owner: str = "") -> bool:
    """Whether `record`, as read from JSON, is what `sealed` made for this owner."""
    if not isinstance(record, dict) or "checksum" not in record:
        return False
    values = {key: value for key, value in record.items() if key != "checksum"}
    return bool(record["checksum"] == _checksum(values, owner))


def _checksum(values: Mapping[str, Any], owner: str) -> str:
    return hashlib.sha256(f"{owner}\n{canonical(values)}".encode()).hexdigest()
