"""Is a composed configuration one that can run? Every problem is found and told at once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from esagent.config import names
from esagent.config.allocations import allocation_problems
from esagent.config.blocks import agent_modules, searched_blocks, sigma_factors
from esagent.config.engine import engine_problems
from esagent.config.export import to_dict
from esagent.config.files import is_file, is_folder, user_path
from esagent.config.layers import parse_layers
from esagent.config.limits import kinds_set, known_steps, limit_problems, too_small
from esagent.config.methods import method_problems
from esagent.config.nearest import suggest
from esagent.config.ranges import range_problems
from esagent.config.schema import (
    Config,
    Objective,
    Rule,
    ScheduleKind,
    Select,
    SigmaConfig,
    SpaceConfig,
    TaskConfig,
)
from esagent.config.study import dotted, load_study
from esagent.config.synthetic import is_synthetic, synthetic_problems
from esagent.config.weights import weight_problems
from esagent.config.workers import worker_problems
from esagent.errors import ConfigError
from esagent.models.registry import architecture, place
from esagent.runs.parent import parent_problems

_HUB = re.compile(r"[\w.-]+/[\w.-]+(?<!\.jsonl)")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check(config: Config) -> None:
    """Raises ConfigError with one line per problem: where, the value, and what would be valid."""
    parts = (
        range_problems,
        _names,
        _model,
        engine_problems,
        _agent,
        _task,
        _algorithm,
        method_problems,
        synthetic_problems,
        worker_problems,
        _allocation,
        _schedules,
        _calibration,
        _objective,
        _space,
        _turns,
        _budget,
        _init,
        _study,
    )
    problems = [line for part in parts for line in part(config)]
    if problems:
        raise ConfigError(*problems)


def _names(config: Config) -> Iterator[str]:
    yield from _one_of("backend.name", config.backend.name, names.BACKENDS)
    yield from _one_of("algorithm.name", config.algorithm.name, names.ALGORITHMS)
    yield from _one_of("allocation.name", config.allocation.name, names.ALLOCATIONS)
    yield from _one_of("space.name", config.space.name, names.SPACES)
    yield from _one_of("space.partition", config.space.partition, names.PARTITIONS)
    yield from _one_of("space.init", config.space.init, names.INITS)
    yield from _one_of("space.vectors", config.space.vectors, names.VECTORS)
    if not _DEVICE.fullmatch(config.backend.device):
        yield f"backend.device={config.backend.device}: choose auto, cpu, mps, cuda or cuda:N"
    if not _RUN_NAME.fullmatch(config.name):
        yield f"name={config.name!r}: a folder name of letters, digits, '.', '_' and '-', 100 at most"
    yield from _runs_dir(config.runs_dir)


def _runs_dir(text: str) -> Iterator[str]:
    if not text.strip() or "\0" in text:
        yield f"runs_dir={text!r}: must name a folder"
        return
    folder = user_path(text)
    there = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), folder)
    if os.path.lexists(there) and not is_folder(there):
        yield f"runs_dir={text}: {there} is not a folder"


def _one_of(path: str, value: str, choices: Sequence[str]) -> Iterator[str]:
    if value not in choices:
        yield f"{path}={value}: {suggest(value, choices)}"


def _model(config: Config) -> Iterator[str]:
    if is_synthetic(config):
        return
    try:
        kind, where = place(config.model)
    except ConfigError as error:
        yield from error.problems
        return
    if kind == "folder" and not is_file(user_path(where) / "config.json"):
        yield f"model.source={where}: no model there (a folder with config.json, weights and tokenizer is expected)"
    try:
        architecture(config.model)
    except ConfigError as error:
        yield from error.problems
    if kind != "hub" and config.model.revision is not None:
        yield f"model.revision={config.model.revision}: only a model from the hub has revisions; {where} is {kind}"


def _agent(config: Config) -> Iterator[str]:
    agent = config.agent
    if agent.target is None:
        yield from _one_of("agent.name", agent.name, names.AGENTS)
        for option in sorted(set(agent.options) - {"max_new_tokens"}):
            yield f"agent.options.{option}: the agents that ship take max_new_tokens alone; set agent.target for yours"
        if agent.constrained and agent.name == "react":
            yield "agent.constrained=True: react asks no closed question; choose agent=modular"
    else:
        if not _TARGET.fullmatch(agent.target):
            yield f"agent.target={agent.target}: must read my_module:MyAgent"
        prompts = None if agent.prompts in names.PROMPT_SETS else agent.prompts  # a set comes along with its task
        for name, value in (("prompts", prompts), ("constrained", agent.constrained or None)):
            if value is not None:
                yield f"agent.{name}={value}: is for the agents that ship; hand yours agent.options.{name}=..."
    if agent.prompts is not None and agent.prompts not in names.PROMPT_SETS and not is_folder(agent.prompts):
        yield f"agent.prompts={agent.prompts}: no such folder"


def _task(config: Config) -> Iterator[str]:
    task = config.task
    if task.target is not None:
        if not _TARGET.fullmatch(task.target):
            yield f"task.target={task.target}: must read my_module:MyFamily"
        for name, given in (("path", task.path), ("scorer", task.scorer)):
            if given is not None:
                yield f"task.{name}={given}: is for task=jsonl; hand your family task.options.{name}=..."
        return
    yield from _one_of("task.name", task.name, names.TASKS)
    known = names.TASK_OPTIONS.get(task.name, ())
    for option in sorted(set(task.options) - set(known)):
        takes = f"{', '.join(known)} alone" if known else "none"
        yield f"task.options.{option}: task={task.name} takes {takes}; set task.target for a family of your own"
    if levels := names.TASK_LEVELS.get(task.name):
        yield from _one_of("task.level", task.level, levels)
    elif task.level != TaskConfig.level:
        yield f"task.level={task.level}: task={task.name} has no levels; leave it out"
    if task.name == "qa" and task.path:
        yield from _one_of("task.scorer", task.scorer or names.ANSWER_SCORERS[0], names.ANSWER_SCORERS)
        for option in task.options:
            yield f"task.options.{option}: is for the generated universe; rows from a file take none"
    elif task.name != "jsonl" and task.scorer:
        yield f"task.scorer={task.scorer}: task={task.name} scores by itself; choose task=jsonl"
    yield from _path(task)


def _path(task: TaskConfig) -> Iterator[str]:
    if task.path is None:
        if task.name == "jsonl":
            yield "task.path=null: task=jsonl needs a file of question/answer rows, as in task.path=questions.jsonl"
    elif task.name not in names.TASK_FILES:
        yield f"task.path={task.path}: task={task.name} reads no file; choose {', '.join(names.TASK_FILES)}"
    elif task.name in ("jsonl", "qa") and not is_file(task.path):
        yield f"task.path={task.path}: no such file"
    elif not (is_file(task.path) or is_folder(task.path) or (task.name == "math" and _HUB.fullmatch(task.path))):
        yield f"task.path={task.path}: no such file or folder"


def _algorithm(config: Config) -> Iterator[str]:
    algorithm = config.algorithm
    if algorithm.rule is not Rule.momentum and algorithm.momentum:
        yield (
            f"algorithm.momentum={algorithm.momentum}: algorithm.rule={algorithm.rule.value} has none; "
            "choose algorithm.rule=momentum"
        )
    if algorithm.rule is Rule.momentum and not algorithm.momentum:
        yield "algorithm.momentum=0.0: algorithm.rule=momentum needs a value above 0, such as 0.9"
    if not algorithm.antithetic and algorithm.directions == 1:
        yield "algorithm.directions=1: one member has nothing to be compared with; use 2 or algorithm.antithetic=true"
    blocks = searched_blocks(config, _depth(config))
    steps = _steps(config)
    total = algorithm.directions * steps
    if config.allocation.name == "uniform" and 0 < total < len(blocks):
        kind = "modules" if config.space.partition == "module" else "blocks"
        yield (
            f"algorithm.directions={algorithm.directions}: with budget.steps={steps} makes {total} "
            f"directions for {len(blocks)} {kind}, so some would never be searched; use allocation=joint or more"
        )


def _allocation(config: Config) -> Iterator[str]:
    yield from allocation_problems(config, _depth(config))


def _schedules(config: Config) -> Iterator[str]:
    for path, schedule in (("sigma", config.sigma), ("algorithm.step", config.algorithm.step)):
        if schedule.schedule is ScheduleKind.exponential and not (schedule.start > 0 and schedule.end > 0):
            yield f"{path}.end={schedule.end}: an exponential schedule needs start and end above 0"
        steps = _steps(config)
        if 0 < steps <= schedule.warmup:
            yield (f"{path}.warmup={schedule.warmup}: leaves no step of budget.steps={steps}; 0 to {steps - 1}")


def _calibration(config: Config) -> Iterator[str]:
    sigma = config.sigma
    for name in () if sigma.auto else ("target", "per", "keep", "probes", "tasks"):
        value = getattr(sigma, name)
        if value != getattr(SigmaConfig, name):
            yield f"sigma.{name}={getattr(value, 'value', value)}: is for calibration alone; choose sigma=auto"
    if sigma.auto and sigma.tasks > config.task.pool > 0:
        yield f"sigma.tasks={sigma.tasks}: drawn from task.pool={config.task.pool}; 1 to {config.task.pool}"


def _objective(config: Config) -> Iterator[str]:
    if config.objective is not Objective.likelihood:
        return
    if config.task.target is None and config.task.name == "jsonl":
        yield "objective=likelihood: task=jsonl has no gold outputs for an agent's modules; choose objective=reward"
    if config.agent.target is None and config.agent.name == "react":
        yield "objective=likelihood: agent=react has no gold outputs, for it thinks freely; choose agent=modular"


def _space(config: Config) -> Iterator[str]:
    space, depth = config.space, _depth(config)
    yield from weight_problems(config)
    try:
        parse_layers(space.layers, depth)
    except ConfigError as error:
        yield from error.problems
    for name, spaces in names.SPACE_SETTINGS.items():
        value = getattr(space, name)
        if space.name in names.SPACES and space.name not in spaces and value != getattr(SpaceConfig, name):
            yield f"space.{name}={value}: space={space.name} has none; choose space={' or space='.join(spaces)}"
    if space.name == "lora" and space.sigma_b == 0:
        yield f"space.sigma_b=0.0: B is 0 at the start, where moving A alone (sigma_a={space.sigma_a}) changes nothing"
    if not space.sites and space.name not in (*names.WEIGHT_SPACES, "skills"):
        yield "space.sites=[]: at least one linear map, as in space.sites=[down_proj]"
    for path, given in (("space.modules", space.modules), ("space.sites", space.sites)):
        repeated = sorted({item for item in given if given.count(item) > 1})
        if repeated:
            yield f"{path}: {', '.join(repeated)} named more than once"
    if modules := agent_modules(config):
        for module in space.modules:
            yield from _one_of("space.modules", module, modules)
        if space.partition == "module":
            for module in config.sigma.modules:
                if module not in modules:
                    yield f"sigma.modules.{module}: not a module of this agent; {suggest(module, modules)}"
    if space.partition != "module" and (blocks := searched_blocks(config, depth)):
        for name in sigma_factors(config):
            if name not in blocks:
                yield f"sigma.modules.{name}: no block of space.partition={space.partition}; {suggest(name, blocks)}"


def _turns(config: Config) -> Iterator[str]:
    hops = names.HOPS.get(config.task.name, {}).get(config.task.level, 0)
    if config.task.target is None and config.task.path is None and config.agent.max_turns < hops:
        yield (
            f"agent.max_turns={config.agent.max_turns}: task.level={config.task.level} asks for up to {hops} tool "
            f"calls; use agent.max_turns={hops}"
        )


def _steps(config: Config) -> int:
    """Steps of the run; 0 where they are not known, or do not follow from settings that are wrong."""
    sound = config.algorithm.directions > 0 and config.budget.tasks_per_step > 0
    return (sound and len(kinds_set(vars(config.budget))) == 1 and known_steps(config)) or 0


def _budget(config: Config) -> Iterator[str]:
    budget = config.budget
    problems = list(limit_problems(budget))
    yield from problems or too_small(config)
    if budget.tasks_per_step > config.task.pool > 0:
        yield (
            f"budget.tasks_per_step={budget.tasks_per_step}: drawn without replacement from task.pool="
            f"{config.task.pool}; 1 to {config.task.pool}"
        )
    if budget.select is Select.validation and config.task.validation == 0:
        yield "budget.select=validation: needs task.validation above 0; or choose budget.select=last"


def _init(config: Config) -> Iterator[str]:
    yield from parent_problems(config, _depth(config))


def _study(config: Config) -> Iterator[str]:
    if config.study is None:
        return
    try:
        study = load_study(config.study)
    except ConfigError as error:
        yield from error.problems
        return
    if config.seed not in study.seeds:
        yield f"seed={config.seed}: study {study.name} declares the seeds {', '.join(map(str, study.seeds))}"
    found = study.arms_of(dotted(to_dict(config)))
    if len(found) != 1:
        belongs = f"belong to several of its arms ({', '.join(found)})" if found else "are of none of its arms"
        yield f"study={config.study}: the settings {belongs}; it declares {', '.join(study.arms)}"


def _depth(config: Config) -> int | None:
    """Layers of the model, None when they are not known yet."""
    try:
        sizes = architecture(config.model)
    except ConfigError:  # told by _model
        return None
    return sizes.layers if sizes else None
