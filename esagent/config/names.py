"""The names each axis knows, kept apart from the registries so that a configuration is checked without loading torch.

A test holds every list to the registry that builds what it names.
"""

from __future__ import annotations

BACKENDS = ("hf",)
AGENTS = ("modular", "react")
TASKS = ("toolbox", "jsonl")
ALGORITHMS = ("es",)
ALLOCATIONS = ("uniform", "joint")
SPACES = ("bias", "core")
INITS = ("svd", "orthonormal")
EXPORT_FORMATS = ("peft", "hf", "hooks")
SPLITS = ("pool", "validation", "heldout")
LEVELS = ("easy", "medium", "hard")
TOOLBOX_HOPS = {"easy": 2, "medium": 2, "hard": 3}
"""Tool calls that the longest tasks of a toolbox level need."""

TASK_OPTIONS = {"toolbox": ("weights",), "jsonl": ("question", "answer", "split", "shares", "tools")}
"""`task.options` of the families that ship."""

MODULES = {"modular": ("planner", "selector", "caller", "synthesizer"), "react": ("policy",)}
"""Modules of the agents that ship, in the order in which an episode reaches them."""

GROUPS = ("model", "backend", "agent", "task", "algorithm", "allocation", "sigma", "space", "budget", "experiment")
"""Folders of `conf/` that `group=option` chooses from."""

EVAL_SETTINGS = ("task", "backend", "agent.max_turns", "agent.constrained", "agent.prompts", "agent.options", "seed")
"""Settings of a run that may differ in its evaluation; all others say what its parameters are."""
