"""What a run keeps in memory at its worst moment, by part.

On a CPU that is the resident memory of the process, on a GPU what is allocated there. On a CPU freed memory is kept for
the next batch (see `backends.hf.cpu`), so that parts which are never there at the same time still add up, and what is
kept from batch to batch lies scattered among what was freed.
"""

from __future__ import annotations

from esagent.config.layers import parse_layers
from esagent.config.schema import Config, DType, Positions
from esagent.models.catalog import Architecture
from esagent.plan.searched import linear_shapes, number_bytes, state_bytes
from esagent.workload import PREFIX_TOKENS, PROMPT_TOKENS, remembered_tokens

PARTS = ("process", "weights", "packed", "searched", "prompts", "kv_cache", "logits")
PROCESS = 480_000_000  # Python, torch and transformers without a model
STATES = 2 << 30  # most that is kept of prompts
SCATTERED = 2  # memory that kept prompts take of a CPU, by their size
ANSWER_ROOM = 33  # slots kept for an answer that may be long
CPU_ROWS = 256  # most rows decoded together when backend.max_batch_rows leaves it open
GPU_ROWS = 4096
LOGITS = 1 << 26  # logits computed at once
COPIES = 2  # of keys and values: rows that have finished are dropped by copying the others


def memory_bytes(
    config: Config,
    sizes: Architecture | None,
    numbers: int | None,
    modules: tuple[str, ...],
    members: int,
    steps: int,
    evaluation: int,
) -> dict[str, int | None]:
    """Bytes by part; None where they are not known. numbers: searched. evaluation: episodes in the whole run.

    process: the libraries. packed: copies of weights in the layout of a CPU's matrix product. searched: the centre, the
    optimiser's state, and what members need beside the weights. prompts: states of prompts that are kept. kv_cache: of
    the rows in flight. logits: of one pass.
    """
    if sizes is None:
        return dict.fromkeys(PARTS[1:])
    cuda, width = _place(config)
    together = 1 if config.space.name == "full" else members
    most = config.backend.max_batch_rows or (GPU_ROWS if cuda else CPU_ROWS)
    rows = min(most, max(together * config.budget.tasks_per_step, config.task.pool, config.task.heldout))
    kept = config.space.positions is Positions.answer and not sizes.recurrent
    remembered = remembered_tokens(config, modules, members, evaluation, steps) if kept else 0.0
    return {
        "process": 0 if cuda else PROCESS,
        "weights": sizes.parameters * width,
        "packed": 0 if cuda or (width == 4 and config.space.name == "full") else _packed(sizes) * width,
        "searched": _searched(config, sizes, numbers, max(1, len(modules)), members, width),
        "prompts": min(STATES, round(remembered) * sizes.kv_numbers_per_token * width) * (1 if cuda else SCATTERED),
        "kv_cache": _cached(config, sizes, rows, max(1, len(modules)), members, kept) * width
        + rows * sizes.state_numbers * 4,
        "logits": min(2 * rows * sizes.vocab, max(LOGITS, 64 * sizes.vocab)) * width,
    }


def _place(config: Config) -> tuple[bool, int]:
    """Whether the model runs on a GPU, and the bytes of one of its numbers there."""
    import torch

    from esagent.models.loading import pick_dtype

    wanted = config.backend.device
    cuda = wanted.startswith("cuda") or (wanted == "auto" and torch.cuda.is_available())
    if cuda and not torch.cuda.is_available():
        return True, 4 if config.model.dtype is DType.float32 else 2
    return cuda, pick_dtype(config.model.dtype, torch.device("cuda:0" if cuda else "cpu")).itemsize


def _packed(sizes: Architecture) -> int:
    """Numbers of all linear layers, the head among them."""
    return sizes.head_parameters + sum(inputs * outputs for inputs, outputs in linear_shapes(sizes))


def _searched(
    config: Config, sizes: Architecture, numbers: int | None, modules: int, members: int, width: int
) -> int | None:
    if numbers is None:
        return None
    space = config.space
    centre = numbers * (number_bytes(config) + state_bytes(config))
    if space.name == "full":  # members are written into the weights themselves, one after the other
        return centre
    if space.name == "lowrank":  # two thin factors a matrix: of directions in fp32 as drawn, of members as the model's
        thin = sizes.vocab + sizes.hidden + sum(map(sum, linear_shapes(sizes)))
        return centre + space.rank * thin * (4 * config.algorithm.directions + width * members)
    whole = config.allocation.name == "joint" or config.space.partition != "module"
    each = numbers if whole else numbers // modules  # what a member perturbs: all modules, or one
    return centre + each * members * (4 + width)


def _cached(config: Config, sizes: Architecture, rows: int, modules: int, members: int, kept: bool) -> int:
    """Numbers of keys and values: of rows, of their prompts, which may be the same for all members, and of prefixes."""
    task = config.task
    upper = 1.0
    if config.backend.share_trunk and not sizes.recurrent:
        upper -= min(parse_layers(config.space.layers, sizes.layers)) / sizes.layers
    prompts = min(rows, max(task.pool, task.validation, task.heldout)) if kept else rows
    tokens = COPIES * (rows * ANSWER_ROOM * upper + prompts * PROMPT_TOKENS)
    own = 0 if kept else 1 if config.space.name == "full" else members
    prefixes = modules + own * upper + (rows if sizes.recurrent else 0)  # a recurrent layer's rows own their prefix
    return round((tokens + prefixes * PREFIX_TOKENS) * sizes.kv_numbers_per_token)
