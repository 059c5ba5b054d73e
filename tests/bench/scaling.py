"""How a job on a large model would run on many GPUs: a simulation of steps from what can be known beforehand.

    python -m tests.bench.scaling           the tables of docs/scaling.md

Exact: messages are those of the job, packed and counted; shares are dealt by the code that deals them; memory is the
plan's. Timed here: what the driver spends on a request. Assumed, and stated: the GPU (`Machine`), the length of
episodes (`Job`), and that workers differ in speed by up to 10%.

A worker's round, with n rows of p new prompt tokens and a answer tokens, P weights in 2 bytes, F useful FLOP/s and
memory of B bytes/s:

    n p 2P / F  +  a max(2P / B, n 2P / F)

plus, where members are written into the weights, P / R seconds for each, R numbers of noise a second. An update makes
the noise of every direction once more, on every worker alike: D N / R for N numbers drawn a direction, and one pass
over the weights. A round ends when the last worker is done; the driver's part is not overlapped.
"""

from __future__ import annotations

import functools
import json
import time
from dataclasses import dataclass

from esagent.agents.chain import ChainAgent
from esagent.backends.ray.balance import Unit, deal
from esagent.backends.ray.wire import Receiver, Sender, pack, pack_completions, unpack_completions
from esagent.backends.synthetic.backend import SyntheticBackend
from esagent.backends.synthetic.skills import make_skills
from esagent.config.compose import compose
from esagent.core.episode import Completion, Cost, Request
from esagent.core.noise import direction_seed, key, uniform
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.models.registry import architecture
from esagent.plan import plan
from esagent.plan.rate import GPU_FLOPS, GPU_NOISE
from esagent.plan.searched import linear_shapes
from esagent.rollout import rollout
from esagent.spaces.partitions import make_partition
from esagent.tasks.registry import make_family

GPUS = (8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Machine:
    """Of one GPU: bytes of memory, bytes a second of memory, of its share of disk and of network; tp: speed kept by a
    group of GPUs."""

    memory: float = 80e9
    bandwidth: float = 2e12
    disk: float = 1e9
    network: float = 1.25e9
    tp: float = 0.8


@dataclass(frozen=True)
class Job:
    """A step. prompt: new tokens that a turn adds to what the model has read; answer: tokens of a turn."""

    members: int = 64
    tasks: int = 64
    turns: int = 5
    prompt: int = 400
    answer: int = 120
    letters: int = 1600  # of a turn's prompt
    snapshot_every: int = 4


SPACES = {
    "core": ["space=core", "space.positions=all", "space.layers=all"],
    "lowrank": ["space=lowrank", "space.rank=1", "space.precision=stochastic"],
    "full": ["space=full", "space.precision=stochastic"],
}
MACHINE, JOB = Machine(), Job()
MODEL = architecture(compose(["model=qwen3.5-27b"]).model)
assert MODEL is not None
WEIGHTS = 2.0 * MODEL.parameters
LENGTH = JOB.turns * (JOB.prompt + JOB.answer)


@dataclass(frozen=True)
class Engine:
    """One worker: `gpus` of them, each with `memory` bytes in use. drawn: numbers of noise that make a direction."""

    gpus: int
    memory: float
    drawn: float


def engine(space: str, members: int) -> Engine:
    """The smallest group of GPUs that holds the model, what is searched, and the texts of `members`."""
    common = ["model=qwen3.5-27b", "backend.device=cuda", "allocation=joint", "sigma.start=0.001"]
    made = plan(compose([*common, *SPACES[space], f"algorithm.directions={max(1, members // 2)}"]))
    parts = made.memory_bytes
    rows = JOB.tasks * (1 if space == "full" else members)
    texts = rows * (LENGTH * MODEL.kv_numbers_per_token * 2 + MODEL.state_numbers * 4)
    need = sum(parts[name] or 0 for name in ("weights", "searched", "logits")) + texts
    gpus = next(count for count in (1, 2, 4, 8, 16) if need / count <= 0.9 * MACHINE.memory)
    thin = MODEL.vocab + MODEL.hidden + sum(map(sum, linear_shapes(MODEL)))  # of rank 1
    return Engine(gpus, need / gpus, float(thin if space == "lowrank" else made.searched_numbers or 0))


@functools.cache
def messages(members: int) -> tuple[int, int, int]:
    """Bytes (control, texts) of a step of one worker with `members`, packed as they are sent, and of them an update."""
    population = [
        Perturbation(direction_seed(1, 0, i // 2), 1 - 2 * (i % 2), {"whole": 0.001}) for i in range(JOB.members)
    ]
    sender, control, texts = Sender(), 0, 0
    for turn in range(JOB.turns):
        asked = [
            Request("policy", _text(member, task, turn, JOB.letters), member=member, max_new_tokens=512)
            for member in range(members)
            for task in range(JOB.tasks)
        ]
        answers = [
            Completion(_text(r.member, i, turn, 4 * JOB.answer), "stop", LENGTH, JOB.answer + i % 9)
            for i, r in enumerate(asked)
        ]
        for parcel in (sender.ask(asked, population, None), pack_completions(answers, Cost(), 1.0)):
            control += len(parcel.control)
            texts += len(parcel.texts)
    terms = tuple(UpdateTerm(m.seed, {"whole": float(uniform(m.seed, 1)[0])}) for m in population[::2])
    update = len(pack(Update(0, terms, {"whole": 5e-4})))
    return control + update, texts, update


def _text(member: int, task: int, turn: int, letters: int) -> str:
    """Words without a pattern, as far as a packer can see."""
    words = (key(member, task, turn, i) for i in range(letters // 16))
    return " ".join(f"{word:015x}" for word in words)


def driver_seconds() -> float:
    """What this machine spends on a request: messages packed and read, and the coroutine of its episode."""
    asked = [Request("policy", _text(0, task, 0, JOB.letters), member=0) for task in range(512)]
    answers = [Completion("text " * JOB.answer, "stop", LENGTH, JOB.answer) for _ in asked]
    member = [Perturbation(1, 1, {"whole": 0.001})]
    start = time.perf_counter()
    parcel, back = Sender().ask(asked, member, None), pack_completions(answers, Cost(), 1.0)
    unpack_completions(back)
    packing = (time.perf_counter() - start) / len(asked)
    Receiver().asked(parcel)
    config = compose(["task=synthetic"])
    agent, family = ChainAgent(config.task.chain.modules), make_family(config.task)
    backend = SyntheticBackend(
        make_skills(config.task.chain), config.task.chain.modules, make_partition("module", 1, False)
    )
    tasks = family.tasks("train", 0, 256)
    start, before = time.perf_counter(), backend.cost()
    rollout(agent, family, backend, (), tasks)
    cost = backend.cost()
    running = time.perf_counter() - start - (cost.seconds - before.seconds)
    return packing + running / (cost.requests - before.requests)


def update_seconds(space: str, made: Engine) -> float:
    """An update on one worker: noise that is made, and a pass over the weights with every direction's term."""
    directions = JOB.members // 2
    sums = 2 * directions * MODEL.parameters / GPU_FLOPS if space == "lowrank" else 0.0
    moved = 0.0 if space == "core" else 3 * WEIGHTS / MACHINE.bandwidth
    return (directions * made.drawn / GPU_NOISE + sums + moved) / power_of(made)


def power_of(made: Engine) -> float:
    """How many times as fast as one GPU."""
    return 1.0 if made.gpus == 1 else made.gpus * MACHINE.tp


def step_seconds(space: str, workers: int, made: Engine, driver: float) -> tuple[float, float, float]:
    """(whole step, its update, the driver's part) in seconds."""
    power = power_of(made)
    rate, bandwidth = GPU_FLOPS * power, MACHINE.bandwidth * power
    speeds = [0.9 + 0.1 * float(uniform(key("speed", worker), 1)[0]) for worker in range(workers)]
    units = [Unit(member, (member,), 1.0) for member in range(JOB.members)]
    chosen = deal(units, speeds, [0.0] * workers, {})
    slowest = 0.0
    for worker, speed in enumerate(speeds):
        own = chosen.count(worker)
        batches, each = (own, 1) if space == "full" else (min(own, 1), own)  # members one by one, or all at once
        rows = each * JOB.tasks
        prefill = rows * JOB.prompt * WEIGHTS / rate
        decode = JOB.answer * max(WEIGHTS / bandwidth, rows * WEIGHTS / rate)
        written = MODEL.parameters / GPU_NOISE / power if space == "full" else 0.0
        slowest = max(slowest, batches * (JOB.turns * (prefill + decode) + written) / speed)
    told = driver * JOB.members * JOB.tasks * JOB.turns
    update = update_seconds(space, made)
    return slowest + told + update, update, told


def main() -> None:
    """Print one JSON object: the assumptions, and for each space a row per number of GPUs."""
    driver = driver_seconds()
    tokens = JOB.members * JOB.tasks * LENGTH
    out: dict[str, object] = {
        "job": vars(JOB) | {"tokens of a step": tokens},
        "machine": vars(MACHINE) | {"useful FLOP/s": GPU_FLOPS, "noise a second": GPU_NOISE},
        "driver, microseconds a request": round(1e6 * driver, 1),
    }
    for space in SPACES:
        rows = []
        for gpus in GPUS:
            share = max(1, JOB.members * engine(space, 1).gpus // gpus)
            made = engine(space, share)
            workers = gpus // made.gpus
            step, update, told = step_seconds(space, workers, made, driver)
            control, texts, of_update = messages(max(1, JOB.members // workers))
            state = 0.0 if space == "core" else WEIGHTS
            start = (WEIGHTS + state) / made.gpus / MACHINE.disk
            rows.append(
                {
                    "gpus": gpus,
                    "gpus of a worker": made.gpus,
                    "memory of a gpu GB": round(made.memory / 1e9, 1),
                    "step s": round(step, 1),
                    "update s": round(update, 2),
                    "driver s": round(told, 1),
                    "tokens/s": round(tokens / step),
                    "control KB of a worker": round(control / 1e3, 1),
                    "update KB": round(of_update / 1e3, 1),
                    "texts MB of all": round(texts * min(workers, JOB.members) / 1e6, 1),
                    "weights GB if they were sent": round(WEIGHTS * workers / 1e9),
                    "late worker s": round(start + JOB.snapshot_every * update, 1),
                    "replay of 100 steps s": round(100 * update, 1),
                }
            )
        out[space] = rows
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
