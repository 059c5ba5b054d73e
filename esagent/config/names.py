"""The names each axis knows, kept apart from the registries so that a configuration is checked without loading torch.

A test holds every list to the registry that builds what it names.
"""

from __future__ import annotations

BACKENDS = ("hf", "vllm", "ray", "synthetic")
AGENTS = ("modular", "react", "chain")
TASKS = ("toolbox", "jsonl", "math", "countdown", "synthetic", "qa", "bfcl")
ALGORITHMS = ("es", "es_at_scale", "eggroll", "copes", "agentic_esopt", "mezo")
ALLOCATIONS = (
    *("uniform", "soft", "argmax", "sigma", "soft_sigma", "ipw", "misroute", "random", "oracle", "starve", "joint"),
)
CREDITED = ("soft", "argmax", "sigma", "soft_sigma", "ipw", "misroute")
"""Allocations that go by credit, and so need modules to give it to."""

SPACES = ("bias", "core", "lora", "full", "lowrank", "skills")
WEIGHT_SPACES = ("full", "lowrank")
"""Those that search the model's own parameters: named by space.include and space.exclude, shared by all modules."""

PARTITIONS = ("module", "layer", "kind", "whole", "random")
INITS = ("svd", "orthonormal")
SCALES = ("absolute", "relative")
PRECISIONS = ("master", "stochastic")
VECTORS = ("dense", "none")
SPACE_SETTINGS = {
    "rank": ("core", "lora", "lowrank"),
    "init": ("core",),
    "sigma_a": ("lora",),
    "sigma_b": ("lora",),
    "vectors": ("lowrank",),
}
"""Settings of `space` that not all spaces have, and those that do."""

EXPORT_FORMATS = ("peft", "hf", "hooks")
SPLITS = ("pool", "validation", "heldout")
SPLIT_NAMES = {"test": "heldout"}
"""Other names of splits on the command line."""

TASK_SPLITS = ("train", "validation", "heldout")
"""Splits of a family; a run's pool is drawn from train."""

LEVELS = ("easy", "medium", "hard")
HOPS = {
    "toolbox": {"easy": 2, "medium": 2, "hard": 3},
    "qa": {"easy": 2, "medium": 2, "hard": 3},
}
"""Tool calls that the longest tasks of a family's level need; families without levels are not in it."""

PROMPT_SETS = ("qa", "bfcl")
"""Sets of prompts that ship beside those of an agent itself."""

MATH_LEVELS = ("procedural", "gsm8k", "math500", "amc", "aime")
TASK_LEVELS = {"toolbox": LEVELS, "qa": LEVELS, "math": MATH_LEVELS}
TASK_FILES = ("jsonl", "math", "countdown", "qa")
"""Families that read `task.path`, if one is given."""

ANSWER_SCORERS = ("f1", "em")
"""What task.scorer can be for question-answering rows from a file (task=qa task.path=...)."""

TASK_OPTIONS = {
    "toolbox": ("weights",),
    "jsonl": ("question", "answer", "split", "shares", "tools"),
    "math": ("generators", "reward", "calls", "sandbox", "shares", "subset", "ask", "seconds"),
    "countdown": ("sizes", "highest", "targets", "reward", "shares", "tools"),
    "synthetic": (),
    "qa": ("weights", "universe", "sections"),
    "bfcl": ("categories",),
}
"""`task.options` of the families that ship."""

MODULES = {
    "modular": ("planner", "selector", "caller", "synthesizer"),
    "react": ("policy",),
    "chain": ("planner", "selector", "caller", "synthesizer"),
}
"""Modules of the agents that ship, in the order in which an episode reaches them; a chain's are task.chain.modules."""

SYNTHETIC = {"backend": "synthetic", "agent": "chain", "task": "synthetic", "space": "skills", "model": "none"}
"""The parts of the synthetic environment: none of them goes with those of a language model."""

GROUPS = (
    "model",
    "backend",
    "agent",
    "task",
    "algorithm",
    "allocation",
    "credit",
    "sigma",
    "space",
    "budget",
    "experiment",
)
"""Folders of `conf/` that `group=option` chooses from."""

EVAL_SETTINGS = ("task", "backend", "agent.max_turns", "agent.constrained", "agent.prompts", "agent.options", "seed")
"""Settings of a run that may differ in its evaluation; all others say what its parameters are."""
