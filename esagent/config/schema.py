"""Typed configuration, one dataclass per Hydra group. `conf/` gives the values; ranges are checked in `check.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class DType(Enum):
    """Number format of the base weights during generation. The searched parameters are always kept in fp32."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    auto = "auto"


class PromptStyle(Enum):
    """raw: few-shot text. chat: the model's own template and tool-call format. auto: chat where it is known to help."""

    raw = "raw"
    chat = "chat"
    auto = "auto"


class ScheduleKind(Enum):
    constant = "constant"
    linear = "linear"
    cosine = "cosine"
    exponential = "exponential"


class Shaping(Enum):
    """How rewards become weights: raw differences, z-score over all members or over those of a block, centred ranks,
    or the mean of every task group subtracted and all divided by one spread (group)."""

    none = "none"
    zscore = "zscore"
    block_zscore = "block_zscore"
    ranks = "ranks"
    group = "group"


class UpdateNorm(Enum):
    """block: a block's estimate is the mean over its own directions. total: over all directions of the step."""

    block = "block"
    total = "total"


class Positions(Enum):
    """Where the searched parameters act: on every token, or from the last token of the prompt on (the answer)."""

    all = "all"
    answer = "answer"


class Noise(Enum):
    """The law of each number of a direction: standard normal, or a sign (+1 or -1 with equal probability)."""

    gaussian = "gaussian"
    rademacher = "rademacher"


class Normalise(Enum):
    """What an estimate is divided by before the step: nothing, its block's own RMS, or the RMS over all blocks."""

    none = "none"
    block = "block"
    total = "total"


class Rule(Enum):
    plain = "plain"
    momentum = "momentum"
    adam = "adam"


class StepFollows(Enum):
    """sigma: a block's step size is alpha_t times its sigma_t. none: it is alpha_t itself."""

    sigma = "sigma"
    none = "none"


class AllocationWrap(Enum):
    """What is put around an allocation scheme.

    none: nothing. floor: a share phi of all directions is dealt to all modules in turn. burst: directions that a module
    went without are paid in its next step. catchup: its next step is longer by the steps it went without.
    """

    none = "none"
    floor = "floor"
    burst = "burst"
    catchup = "catchup"


class CreditSource(Enum):
    """Whose episodes credit is learned from: the perturbed members', or the unperturbed agent's on the same tasks."""

    members = "members"
    unperturbed = "unperturbed"


class StepFactor(Enum):
    """What alpha_t is multiplied by: nothing, the root of the number of blocks, or of the number of members."""

    one = "one"
    sqrt_blocks = "sqrt_blocks"
    sqrt_members = "sqrt_members"


class Control(Enum):
    """none: the method. shuffled: rewards change hands among the members. frozen: every step size is 0."""

    none = "none"
    shuffled = "shuffled"
    frozen = "frozen"


class Objective(Enum):
    """reward: what an episode earned. likelihood: of the gold outputs under a member's parameters (supervised)."""

    reward = "reward"
    likelihood = "likelihood"


class Guards(Enum):
    """What becomes of a fault that a guard finds: strict ends the run, warn tells of it, off does not look."""

    strict = "strict"
    warn = "warn"
    off = "off"


class Per(Enum):
    """What is calibrated by itself: every block, or all of them by one factor on `sigma.modules`."""

    block = "block"
    all = "all"


class TaskSampling(Enum):
    """How the tasks of a step are drawn from the pool: in epochs, or more often where members' rewards vary."""

    uniform = "uniform"
    variance = "variance"


class Select(Enum):
    """Which state of a run is its result: the last, or the best on the validation split (never on held-out)."""

    last = "last"
    validation = "validation"


@dataclass
class ModelConfig:
    name: str = "smollm2-135m"
    source: str = "embedded"  # embedded, a hub id, or a local folder
    revision: str | None = None
    dtype: DType = DType.auto
    prompt_style: PromptStyle = PromptStyle.auto


@dataclass
class EngineConfig:
    """What is handed to vLLM, under its own names (docs/vllm.md)."""

    dtype: DType = DType.auto  # auto: what model.dtype says
    gpu_memory_utilization: float = 0.9  # CUDA: share of the device's memory that vLLM takes
    kv_cache_gb: float = 0.0  # memory for keys and values; 0: what the share above leaves, and 1 GB on a CPU
    tensor_parallel_size: int = 1
    max_model_len: int = 0  # 0: the model's context
    max_num_seqs: int = 128
    max_num_batched_tokens: int = 0  # 0: 2048
    max_loras: int = 16  # members that one pass can tell apart
    enforce_eager: bool = True
    prefix_caching: bool = True
    batch_invariant: bool = False  # vLLM's kernels whose results do not depend on the batch; CUDA alone
    separate_process: bool = False  # the engine in a process of its own


@dataclass
class BackendConfig:
    name: str = "hf"
    device: str = "auto"  # auto, cpu, cuda, cuda:1
    threads: int = 0  # 0: what OMP_NUM_THREADS says, else all cores
    share_prefix: bool = True  # prefill each member's few-shot prefix once
    share_requests: bool = True  # answer identical greedy requests once
    share_trunk: bool = True  # compute layers below the lowest searched one once for all members
    draft: bool = True  # check the centre's answer to the same prompt in one pass before decoding
    max_batch_rows: int = 0  # 0: sized to memory
    deterministic: bool = False  # answers bitwise independent of what else is in the batch; slower
    inner: str = "hf"  # ray only: the backend of each worker
    workers: int = 2  # ray only
    gpus: int = 0  # ray only: GPUs of a worker, all on one node; 0: one where a GPU is used
    address: str | None = None  # ray only: of an existing cluster; None: one of its own on this machine
    time_limit: float = 600.0  # ray only: seconds for one call of a worker, loading the model included
    spares: int = 8  # ray only: lost workers that are replaced, in all
    engine: EngineConfig = field(default_factory=EngineConfig)  # vllm only


@dataclass
class AgentConfig:
    name: str = "modular"
    target: str | None = None  # my_module:MyAgent
    max_turns: int = 3
    constrained: bool = False  # closed questions (which tool?) by constrained choice instead of free text
    prompts: str | None = None  # folder with a text file per module, or a set that ships (bfcl); None: the agent's
    options: dict[str, Any] = field(default_factory=dict)  # passed to `target`


@dataclass
class ChainConfig:
    """The synthetic chain: a module's skill is ceiling * exp(-distance^2 / (2 width^2)) (docs/synthetic.md)."""

    modules: list[str] = field(default_factory=list)  # in the order in which an episode passes them
    start: dict[str, float] = field(default_factory=dict)  # skill of each at the start: its share of right tasks
    width: dict[str, float] = field(default_factory=dict)  # distance over which a skill falls to exp(-1/2); else 1
    ceiling: float = 1.0  # skill at the optimum
    size: int = 32  # searched numbers of each module
    graded: float = 0.5  # what a part of the way is worth, in [0, 1]


@dataclass
class TaskConfig:
    name: str = "toolbox"
    target: str | None = None  # my_module:MyFamily
    path: str | None = None  # JSONL file of the jsonl family
    scorer: str | None = None
    level: str = "easy"
    pool: int = 64  # tasks of the fixed training pool
    validation: int = 32
    heldout: int = 128
    options: dict[str, Any] = field(default_factory=dict)  # passed to `target`
    chain: ChainConfig = field(default_factory=ChainConfig)  # synthetic only


@dataclass
class ScheduleConfig:
    schedule: ScheduleKind = ScheduleKind.constant
    start: float = 1.0
    end: float = 1.0
    warmup: int = 0  # steps of linear rise from 0 before the schedule


@dataclass
class AlgorithmConfig:
    name: str = "es"
    directions: int = 24  # noise vectors per step
    antithetic: bool = True  # each evaluated at +eps and -eps: two members per direction
    shaping: Shaping = Shaping.none
    divide_by_sigma: bool = False  # the estimate is one of the gradient, as in MeZO
    rule: Rule = Rule.plain
    momentum: float = 0.0
    beta1: float = 0.9  # adam only
    beta2: float = 0.999  # adam only
    update_norm: UpdateNorm = UpdateNorm.block
    normalise: Normalise = Normalise.block  # other than none: the step size is the RMS length of a step
    pull: float = 0.0  # towards the start of the run: theta <- theta - pull * step size * (theta - theta_0)
    step: ScheduleConfig = field(default_factory=ScheduleConfig)  # alpha
    step_follows: StepFollows = StepFollows.sigma
    step_factor: StepFactor = StepFactor.one
    control: Control = Control.none


@dataclass
class AllocationConfig:
    name: str = "uniform"
    wrap: AllocationWrap = AllocationWrap.none
    phi: float = 0.5  # floor only: share of the directions that is reserved
    bottleneck: str | None = None  # oracle and starve: the block that holds the agent back, known from an intervention
    starvation: float = 0.0  # starve only: share of the steps in which the bottleneck gets no direction
    step_follows: StepFollows = StepFollows.none  # sigma and soft_sigma: whether a block's step is scaled as its sigma


@dataclass
class CreditConfig:
    """Which module failed: an exponential moving average of the share of failures that are due to each."""

    rate: float = 0.2  # weight of the newest step
    smoothing: float = 1.0  # added to every count of blamed episodes
    tau: float = 1.0  # temperature of the shares made of credit: soft, soft_sigma, ipw and misroute
    source: CreditSource = CreditSource.members
    noise: float = 0.0  # eta: probability that another module is blamed than the one that failed
    clip: float = 0.1  # ipw only: propensities below it count as this


@dataclass
class SigmaConfig:
    schedule: ScheduleKind = ScheduleKind.constant
    start: float = 1.0
    end: float = 1.0
    warmup: int = 0
    modules: dict[str, float] = field(default_factory=dict)  # factor per block of the partition on top of the schedule
    by_size: bool = False  # times sqrt(d / d_k) for a block of d_k of the d searched numbers
    auto: bool = False  # calibrate before the first step; start and end are then multiples of what was found
    target: float = 0.3  # auto only: share of the centre's greedy completions that a member shall change
    per: Per = Per.block  # auto only
    keep: float = 0.5  # auto only: share of the centre's reward and signals that members must keep
    probes: int = 4  # auto only: directions tried per block, each at both signs
    tasks: int = 8  # auto only: tasks of the training pool tried on


@dataclass
class SpaceConfig:
    name: str = "bias"  # bias, core, lora, full or lowrank
    layers: str = "18-29"  # "18-29", "24,27", "last:8"
    sites: list[str] = field(default_factory=lambda: ["down_proj"])
    modules: list[str] = field(default_factory=list)  # empty: every module of the agent
    positions: Positions = Positions.answer
    noise: Noise = Noise.gaussian
    partition: str = "module"  # the blocks: module, layer, kind, whole, or random
    parts: int = 4  # random only: how many
    redraw: bool = True  # random only: anew every step
    rank: int = 8  # core, lora and lowrank
    init: str = "svd"  # core only: svd or orthonormal
    sigma_a: float = 0.0  # lora only: factor on sigma for A; 0 freezes it
    sigma_b: float = 1.0  # lora only: factor on sigma for B
    include: list[str] = field(default_factory=list)  # of weights, full and lowrank: regular expressions; empty: all
    exclude: list[str] = field(default_factory=list)  # of weights: taken out again
    scale: str = "absolute"  # of weights: sigma in units of 1, or relative to each parameter's RMS
    precision: str = "master"  # of weights: an fp32 copy is moved, or the parameters themselves by stochastic rounding
    vectors: str = "dense"  # lowrank only: noise of biases and norms, dense or none


@dataclass
class BudgetConfig:
    """A run ends by exactly one of steps, episodes, tokens, flops and seconds, counted over training alone."""

    steps: int | None = 16
    tasks_per_step: int = 16  # drawn from the pool without replacement, shared by all members
    task_sampling: TaskSampling = TaskSampling.uniform
    evaluate_every: int = 4  # steps between evaluations of the unperturbed agent on the pool; 0: only start and end
    snapshot_every: int = 4
    select: Select = Select.last
    episodes: int | None = None  # the last step gets as many whole directions as still fit
    tokens: float | None = None  # prompt and completion, as the agents ask for them
    flops: float | None = None  # as computed
    seconds: float | None = None  # wall time of the steps


@dataclass
class Config:
    model: ModelConfig = field(default_factory=ModelConfig)
    backend: BackendConfig = field(default_factory=BackendConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    allocation: AllocationConfig = field(default_factory=AllocationConfig)
    credit: CreditConfig = field(default_factory=CreditConfig)
    sigma: SigmaConfig = field(default_factory=SigmaConfig)
    space: SpaceConfig = field(default_factory=SpaceConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    objective: Objective = Objective.reward  # what members are compared by
    guards: Guards = Guards.strict
    seed: int = 0
    init: str | None = None  # start from a state of this run: a folder, name/run-id, a run id, or latest
    init_state: str = "best"  # of it: best, last, or a number of updates
    study: str | None = None  # file of a preregistered study, stamped into the manifest before the run starts
    name: str = "default"  # runs/<name>/<run-id>
    runs_dir: str = "runs"
