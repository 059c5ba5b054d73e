"""What is left of an agent's requests once everything that is the same is computed once.

Of the members of a step, n_m perturb module m (all of them under joint allocation) and e_m an earlier module. A share
NOVEL of perturbed answers is found nowhere else, so a call of module m has, per task and step,

    prompts  P = 1 + NOVEL e_m           texts that the module is asked
    answers  A = n_m + 1 + NOVEL e_m     distinct pairs of parameters and text; n_m where all members perturb m
    nodes    N = P + NOVEL (A - P)       distinct answers below the lowest searched layer

An evaluation has P = A = N = 1. With objective=likelihood all members are scored on the same gold outputs: P = N = 1,
A is n_m or n_m + 1, and nothing is guessed. Parameters that act on answers alone leave prompts to the base model: a
prompt is computed once for all members and kept, so that later steps and evaluations pay only for prompts that no one
asked before: the NOVEL ones, and a share RENEWED of the centre's, whose earlier modules have moved. Otherwise a prompt
is computed A times, and a prefix once per step for each of n_m + 1. Guesses that do not hold add WASTE to an answer.

The constants and lengths are means over steps of the shipped agents on toolbox with the embedded model.
"""

from __future__ import annotations

from dataclasses import dataclass

from esagent.config.blocks import agent_modules
from esagent.config.schema import Config, Objective, Positions

PREFIX_TOKENS = 150  # few-shot part of one module call, equal over tasks
PROMPT_TOKENS = 25  # the task's own part
ANSWER_TOKENS = 8
TOOL_CALLS = {"easy": 1.2, "medium": 1.5, "hard": 2.2}
OTHER_TOOL_CALLS = 1.5  # of tasks that are not the toolbox's
NOVEL = 0.06
RENEWED = 0.3
WASTE = 0.1


@dataclass(frozen=True)
class Module:
    """calls: per episode. own: members of a step that perturb it; earlier: those that perturb what it is shown."""

    calls: float
    own: float
    earlier: float


@dataclass(frozen=True)
class Work:
    """Tokens through the layers below the lowest searched one (trunk), through those above, and through the head."""

    trunk: float
    upper: float
    head: float


def calls_per_episode(config: Config) -> float:
    """Module calls of one episode."""
    return sum(module.calls for module in modules(config, (), 0))


def modules(config: Config, blocks: tuple[str, ...], members: int) -> list[Module]:
    """The agent's modules in the order in which an episode reaches them; an agent of the user's counts as one."""
    known = config.task.target is None and config.task.name == "toolbox"
    turns = min(TOOL_CALLS[config.task.level] if known else OTHER_TOOL_CALLS, config.agent.max_turns)
    order = agent_modules(config)
    if len(order) < 2:
        return [Module(1 + turns, members, members * turns / (1 + turns))]
    joint = config.allocation.name == "joint" or config.space.partition != "module"
    each = members / max(1, 1 if joint else len(blocks))
    out: list[Module] = []
    for name in order:
        calls = turns if name in ("selector", "caller") else 1.0
        earlier = (max if joint else sum)([0.0, *(module.own for module in out)])
        out.append(Module(calls, each if name in blocks else 0.0, earlier))
    return out


def work(
    config: Config, blocks: tuple[str, ...], members: int, evaluation: int, steps: int, *, remembers: bool = True
) -> Work:
    """Tokens computed in `steps` steps and `evaluation` episodes of the unperturbed agent beside them.

    remembers: prompts of the base model are kept from step to step.
    """
    backend = config.backend
    kept = config.space.positions is Positions.answer
    drawn = steps * config.budget.tasks_per_step
    prefix = 0 if backend.share_prefix else PREFIX_TOKENS
    gold = config.objective is Objective.likelihood
    novel = 0.0 if gold else NOVEL
    answer = ANSWER_TOKENS * (1 + WASTE * backend.draft)
    trained = ANSWER_TOKENS if gold else answer
    trunk = upper = head = 0.0
    for module in modules(config, blocks, members):
        prompts = 1 + novel * module.earlier
        everyone = module.own >= members
        pairs = module.own if everyone else module.own + 1 + novel * module.earlier
        answers = pairs if backend.share_requests else members
        nodes = prompts + novel * max(0.0, answers - prompts) if backend.share_trunk else answers
        asked = drawn * prompts + evaluation
        by_slot = drawn * pairs + evaluation
        if kept:
            asked = by_slot = _remembered(config, module, drawn, evaluation) if remembers else asked
        said = module.calls * (drawn * answers * trained + evaluation * answer)
        upper += module.calls * by_slot * (prefix + PROMPT_TOKENS) + said
        trunk += module.calls * ((asked if backend.share_trunk else by_slot) * (prefix + PROMPT_TOKENS))
        trunk += module.calls * (drawn * nodes * trained + evaluation * answer)
        head += said
        if backend.share_prefix:
            slots = 1 if kept else steps * (module.own + 1)
            upper += slots * PREFIX_TOKENS
            trunk += (1 if kept or backend.share_trunk else slots) * PREFIX_TOKENS
    return Work(trunk, upper, head)


def remembered_tokens(config: Config, blocks: tuple[str, ...], members: int, evaluation: int, steps: int) -> float:
    """Tokens of all prompts that are kept where the parameters leave prompts to the base model."""
    drawn = steps * config.budget.tasks_per_step
    return PROMPT_TOKENS * sum(
        module.calls * _remembered(config, module, drawn, evaluation) for module in modules(config, blocks, members)
    )


def _remembered(config: Config, module: Module, drawn: int, evaluation: int) -> float:
    """Prompts of `module` per call that no one asked before."""
    task = config.task
    first = min(evaluation, task.pool + task.validation + task.heldout)
    if config.objective is Objective.likelihood:  # the gold episodes of the pool, which stay the same
        return first + min(drawn, task.pool) + RENEWED * max(0, evaluation - first)
    return first + drawn * NOVEL * module.earlier + RENEWED * max(0, drawn + evaluation - first)
