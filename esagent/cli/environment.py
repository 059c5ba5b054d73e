"""What must be settled before torch and transformers are imported. Whatever of the environment the user set stays."""

from __future__ import annotations

import logging
import os
import warnings

from esagent.stopping import leave_when_told


def prepare() -> None:
    """Keep libraries off the terminal, let waiting threads give their core back soon, heed a scheduler from now on."""
    leave_when_told()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    # OpenMP threads that wait for each other spin. Spinning for ever slows a run down tenfold as soon as other work
    # wants the same cores; not at all, it costs half the speed of an idle machine. This bridges the usual gap.
    os.environ.setdefault("GOMP_SPINCOUNT", "200000")
    warnings.filterwarnings("ignore")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
