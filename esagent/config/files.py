"""Files and folders that a user names: `~` is understood, and no text, however odd, makes these raise."""

from __future__ import annotations

import os
from pathlib import Path


def user_path(text: str | Path) -> Path:
    """`text` as a path; `~` and `~name` stand for home folders, where there is such a user."""
    try:
        return Path(os.path.expanduser(text))
    except ValueError:  # a null character in a user's name
        return Path(text)


def is_file(text: str | Path) -> bool:
    """Whether a file is there. A name that no file can have is no error."""
    return os.path.isfile(user_path(text))


def is_folder(text: str | Path) -> bool:
    """Whether a folder is there. A name that no folder can have is no error."""
    return os.path.isdir(user_path(text))
