"""The plan: counts by hand, and costs that move the way the settings do."""

from __future__ import annotations

import pytest
import torch

from esagent.config.compose import compose
from esagent.config.schema import DType
from esagent.models.catalog import CATALOG
from esagent.models.loading import pick_dtype
from esagent.plan import Plan, describe, plan
from esagent.workload import calls_per_episode, work

DEFAULT = compose([])
EPISODES = 2 * DEFAULT.algorithm.directions * DEFAULT.budget.tasks_per_step


def test_counts_of_a_small_job_by_hand() -> None:
    cost = plan(
        compose(
            [
                *("algorithm.directions=6", "budget.steps=5", "budget.tasks_per_step=3", "budget.evaluate_every=2"),
                *("task.pool=10", "task.validation=4", "task.heldout=7", "space.modules=[selector,caller]"),
                *("space.layers=18-29", "agent.max_turns=2", "budget.select=validation"),
            ]
        )
    )
    assert cost.blocks == ("selector", "caller")
    assert (cost.members, cost.directions) == (12, 3.0)
    assert cost.training_episodes == 5 * 12 * 3
    assert cost.evaluation_episodes == 4 * (10 + 4) + 2 * 7  # the states after 0, 2, 4 and 5 steps
    assert cost.requests == round((180 + 70) * (2 + 2 * 1.2))  # planner, selector and caller per call, synthesizer
    assert cost.searched_numbers == 2 * 12 * 576
    assert cost.memory_bytes["weights"] == 134_515_008 * pick_dtype(DType.auto, torch.device("cpu")).itemsize


def test_episodes_that_credit_is_learned_from_are_counted() -> None:
    small = ["budget.steps=5", "budget.tasks_per_step=3", "credit.source="]
    members, unperturbed = (plan(compose([*small[:2], small[2] + source])) for source in ("members", "unperturbed"))
    assert unperturbed.training_episodes == members.training_episodes
    assert unperturbed.evaluation_episodes == (members.evaluation_episodes or 0) + 5 * 3


def test_core_searches_rank_squared_numbers_a_site() -> None:
    cost = plan(compose(["space=core", "space.rank=4", "space.layers=last:2", "space.sites=[o_proj,down_proj]"]))
    assert cost.searched_numbers == 4 * 2 * 2 * 16


@pytest.mark.parametrize(("sigma_a", "per_layer"), [(0.0, 576 + 576), (0.5, 576 + 576 + 576 + 1536)])
def test_lora_searches_rank_rows_a_side(sigma_a: float, per_layer: int) -> None:
    cost = plan(compose(["space=lora", "space.rank=3", "space.layers=last:2", f"space.sigma_a={sigma_a}"]))
    assert cost.searched_numbers == 4 * 2 * 3 * per_layer


def test_full_searches_every_number_and_keeps_one_copy_of_it() -> None:
    numbers = 134_515_008
    cost = plan(compose(["space=full"]))
    assert (cost.blocks, cost.directions) == (("whole",), DEFAULT.algorithm.directions)
    assert cost.searched_numbers == numbers
    assert cost.memory_bytes["searched"] == 4 * numbers
    assert cost.disk_bytes["snapshots"] == 5 * 4 * numbers
    assert plan(compose(["space=full", "space.precision=stochastic"])).memory_bytes["searched"] == 2 * numbers
    assert plan(compose(["space=full", "space.include=[mlp]"])).searched_numbers is None
    assert cost.computed_tokens > plan(compose(["space.positions=all", "allocation=joint"])).computed_tokens


def test_blocks_are_those_of_the_partition() -> None:
    by_layer = plan(compose(["space.partition=layer", "space.layers=last:2"]))
    assert (by_layer.blocks, by_layer.directions) == (("layer-28", "layer-29"), DEFAULT.algorithm.directions / 2)
    assert by_layer.searched_numbers == 4 * 2 * 576
    assert plan(compose(["space.partition=random", "space.parts=3"])).blocks == ("part-0", "part-1", "part-2")


def test_work_of_a_small_job_by_hand() -> None:
    """One searched module, two members, nothing kept, no guesses: every term can be written down."""
    config = compose(
        [
            *("algorithm.directions=1", "budget.steps=2", "budget.tasks_per_step=3", "budget.evaluate_every=0"),
            *("task.pool=4", "task.heldout=0", "space.modules=[caller]", "space.positions=all", "backend.draft=false"),
        ]
    )
    left = work(config, ("caller",), 2, 2 * 4, 2)
    answers = {"planner": 1, "selector": 1.2 * 1, "caller": 1.2 * 2, "synthesizer": 1 + 0.06 * 2}
    head = sum(6 * a for a in answers.values()) + 8 * 4.4
    assert left.head == pytest.approx(8 * head)
    prefixes = 2 * (1 + 1 + 3 + 1)  # per step: the centre of each module, and the caller's two members
    assert left.upper == pytest.approx((25 + 8) * head + 150 * prefixes)
    texts = 6 * (1 + 1.2 + 1.2 + 1.12) + 8 * 4.4
    nodes = 6 * (1 + 1.2 + 1.2 * 1.06 + 1.12) + 8 * 4.4
    assert left.trunk == pytest.approx(25 * texts + 8 * nodes + 150 * 4)


def test_gold_outputs_are_the_same_for_all_members() -> None:
    """The same job by likelihood: no text is new, whoever perturbs an earlier module, and nothing is guessed."""
    small = ["algorithm.directions=1", "budget.steps=2", "budget.tasks_per_step=3", "budget.evaluate_every=0"]
    small += ["task.pool=4", "task.validation=0", "task.heldout=0", "space.modules=[caller]", "space.positions=all"]
    left = work(compose([*small, "objective=likelihood"]), ("caller",), 2, 2 * 4, 2)
    answers = 1 + 1.2 * 1 + 1.2 * 2 + 1
    calls = 1 + 1.2 + 1.2 + 1
    guessed = 8 * (1 + 0.1)  # evaluations are of episodes
    assert left.head == pytest.approx(6 * answers * 8 + 8 * calls * guessed)
    texts = (6 + 8) * calls
    assert left.trunk == pytest.approx(texts * 25 + 6 * calls * 8 + 8 * calls * guessed + 150 * 4)
    kept = work(compose([*small, "objective=likelihood", "space.positions=answer"]), ("caller",), 2, 2 * 4, 2)
    first = 4 + 4 + 0.3 * 4  # of the first evaluation, of the gold episodes, and what the second one finds renewed
    assert kept.upper == pytest.approx(25 * calls * first + left.head + 150 * 4)
    reward, gold = (plan(compose([f"objective={name}"])) for name in ("reward", "likelihood"))
    assert gold.seconds < reward.seconds
    assert "training (gold outputs, scored)" in describe(compose(["objective=likelihood"]), gold)


def test_a_calibration_counts_in_the_whole() -> None:
    """One searched module and one probe: the centre, five tries, and one round of episodes."""
    plain, auto = (
        plan(compose([f"sigma={name}", "space.modules=[caller]"] + (["sigma.probes=1"] if name == "auto" else [])))
        for name in ("constant", "auto")
    )
    before = auto.calibration
    assert plain.calibration is None
    assert before is not None
    assert before.episodes == 8 * (1 + 1 + 2)
    calls = 2 + 2 * 1.2
    assert before.requests == round(before.episodes * calls + 5 * 8 * 2 * 1.2)  # tries ask the caller alone
    assert auto.requests == plain.requests + before.requests
    assert auto.tokens == plain.tokens + before.requests * 183
    for name in ("computed_tokens", "flops", "seconds"):
        assert getattr(auto, name) == pytest.approx(getattr(plain, name) + getattr(before, name), rel=1e-4)
    assert before.seconds > 0
    text = describe(compose(["sigma=auto", "space.modules=[caller]"]), auto)
    assert f"about {before.episodes} calibration" in text


def test_joint_members_are_searched_for_once_more() -> None:
    one, both, all_ = (
        plan(compose(["sigma=auto", "space.modules=[caller,selector]", *more])).calibration
        for more in ([], ["allocation=joint"], ["allocation=joint", "sigma.per=all"])
    )
    assert one is not None
    assert both is not None
    assert all_ is not None
    assert one.episodes == 8 * (1 + 1 + 8 * 2)
    assert both.episodes == one.episodes + 8 * (1 + 8)
    assert all_.episodes == 8 * (1 + 1 + 8)
    full = plan(compose(["sigma=auto", "space=full", "allocation=joint"]))
    assert full.calibration is not None
    assert full.calibration.seconds > full.calibration.flops / full.flops_per_second  # noise is written too
    unknown = plan(compose(["sigma=auto", "model=Nobody/nothing-1b"]))
    assert unknown.calibration is not None
    assert (unknown.calibration.flops, unknown.seconds) == (None, None)


def test_a_kept_prompt_is_paid_once() -> None:
    config = compose(
        ["budget.steps=1", "budget.tasks_per_step=1", "task.pool=10", "task.heldout=0", "backend.draft=false"]
    )
    some, all_, twice = (work(config, ("caller",), 2, episodes, 1) for episodes in (9 + 32, 10 + 32, 20 + 32))
    calls = calls_per_episode(config)
    assert all_.upper - some.upper == pytest.approx(calls * (25 + 8))
    assert twice.upper - all_.upper == pytest.approx(10 * calls * (0.3 * 25 + 8))


def test_sharing_saves_and_joint_costs_more() -> None:
    off = ["backend.share_prefix=false", "backend.share_requests=false", "backend.share_trunk=false"]
    costs = [plan(compose(args)).flops for args in ([], ["allocation=joint"], ["allocation=joint", *off])]
    assert costs == sorted(costs)
    for switch in off:
        assert plan(compose([switch])).flops > costs[0]
        assert plan(compose([switch, "space.positions=all"])).flops > plan(compose(["space.positions=all"])).flops


def test_the_default_job_costs_what_was_measured() -> None:
    """35.4 TFLOP: the sum of `flops` over the rows of metrics.jsonl of `esagent train seed=100`."""
    assert plan(compose([])).flops == pytest.approx(35.4e12, rel=0.2)


def test_float32_doubles_the_weights() -> None:
    half, full = (plan(compose([f"model.dtype={dtype}"])).memory_bytes["weights"] for dtype in ("bfloat16", "float32"))
    assert half is not None
    assert full == 2 * half


def test_an_unknown_model_has_counts_but_no_sizes() -> None:
    config = compose(["model=Nobody/nothing-1b"])
    cost = plan(config)
    assert (cost.flops, cost.seconds, cost.searched_numbers) == (None, None, None)
    assert cost.training_episodes > 0
    assert "unknown" in describe(config, cost)


def total(cost: Plan) -> int:
    return sum(value or 0 for value in cost.memory_bytes.values())


def test_a_budget_of_episodes_has_a_smaller_last_step() -> None:
    """Two steps of 6 directions of 2 x 3 episodes, then 4 directions; 5 episodes are left."""
    small = ["algorithm.directions=6", "budget.tasks_per_step=3", "budget.evaluate_every=0", "space.modules=[caller]"]
    cost = plan(compose([*small, "budget=episodes", f"budget.episodes={2 * 36 + 4 * 6 + 5}"]))
    assert (cost.steps, cost.training_episodes) == (3, 2 * 36 + 4 * 6)
    assert cost.evaluation_episodes == 2 * DEFAULT.task.pool + 2 * DEFAULT.task.heldout


@pytest.mark.parametrize("kind", ["tokens", "flops", "seconds"])
def test_other_budgets_are_as_many_steps_as_fit(kind: str) -> None:
    cost = plan(compose([f"budget={kind}"]))
    assert cost.steps is not None
    assert 0 < cost.steps < 4000
    if kind == "tokens":
        per_step = EPISODES * calls_per_episode(compose([])) * 183
        assert cost.steps == int(8e6 // per_step)
    text = describe(compose([f"budget={kind}"]), cost)
    assert f"{kind}: about {cost.steps} steps" in text


def test_a_budget_that_only_a_known_model_can_tell() -> None:
    config = compose(["model=Nobody/nothing-1b", "budget=flops"])
    cost = plan(config)
    assert (cost.steps, cost.training_episodes, cost.requests) == (None, None, None)
    assert "an unknown number of steps" in describe(config, cost)
    assert plan(compose(["model=Nobody/nothing-1b", "budget=tokens"])).steps is not None


def test_whole_model_members_go_one_at_a_time() -> None:
    """Nothing is shared among members, all numbers are searched, a master copy stands beside the weights."""
    cost = plan(compose(["space=full", "agent=react", "allocation=joint", "model.dtype=bfloat16"]))
    numbers = CATALOG["smollm2-135m"].architecture.parameters
    assert (cost.blocks, cost.searched_numbers) == (("whole",), numbers)
    assert cost.memory_bytes["searched"] == 4 * numbers
    assert cost.noise_numbers == 16 * numbers * 3 * DEFAULT.algorithm.directions
    adam = plan(compose(["space=full", "agent=react", "allocation=joint", "algorithm.rule=adam"]))
    assert adam.memory_bytes["searched"] == 12 * numbers
    bias = plan(compose(["agent=react"]))
    assert cost.step_flops is not None
    assert bias.step_flops is not None
    assert cost.step_flops > 4 * bias.step_flops
    rounded = plan(compose(["space=full", "agent=react", "allocation=joint", "space.precision=stochastic"]))
    assert rounded.memory_bytes["searched"] == 2 * numbers


def test_members_of_low_rank_have_two_thin_factors_a_matrix() -> None:
    settings = ["space=lowrank", "agent=react", "allocation=joint", "model.dtype=bfloat16"]
    one, two = (plan(compose([*settings, f"space.rank={rank}"])).memory_bytes["searched"] for rank in (1, 2))
    sides = 30 * (2 * (576 + 576) + 2 * (576 + 192) + 3 * (576 + 1536)) + 49152 + 576
    assert one is not None
    assert two is not None
    assert two - one == sides * 8 * DEFAULT.algorithm.directions


def test_blocks_of_every_partition() -> None:
    found = {
        "layer": ("layer-28", "layer-29"),
        "kind": ("o_proj", "down_proj"),
        "whole": ("whole",),
        "random": ("part-0", "part-1", "part-2", "part-3"),
    }
    for partition, blocks in found.items():
        settings = [
            "sigma=cosine",
            "space.layers=last:2",
            "space.sites=[o_proj,down_proj]",
            f"space.partition={partition}",
        ]
        cost = plan(compose(settings))
        assert cost.blocks == blocks
        assert cost.directions == DEFAULT.algorithm.directions / len(blocks)
        assert cost.searched_numbers == 4 * 2 * 2 * 576


def test_gradient_training_stands_beside_the_run() -> None:
    config = compose(["model=qwen3.5-4b", "backend.device=cuda", "model.dtype=bfloat16"])
    cost = plan(config)
    text = describe(config, cost)
    for name in ("this run", "ES", "LoRA GRPO", "full GRPO", "8.4 GB", "67.8 GB", "2.8 GB"):
        assert name in text, name
    es, lora, full = cost.baselines
    assert lora.step_flops == full.step_flops == 4 * es.step_flops
    trajectory = calls_per_episode(config) * 183
    assert es.step_flops == pytest.approx(2 * 4_205_751_296 * EPISODES * trajectory)
    assert "Beside training" not in describe(config, plan(compose(["model=Nobody/nothing-1b"])))


def test_a_gpu_counts_what_is_allocated_there() -> None:
    cost = plan(compose(["backend.device=cuda", "model.dtype=bfloat16"]))
    assert (cost.memory_bytes["process"], cost.memory_bytes["packed"]) == (0, 0)


@pytest.mark.parametrize(
    ("settings", "measured"),
    [
        ("", 3.66e9),  # esagent train seed=43: 3.61, 3.66 and 3.81e9 for seeds 44, 43 and 45
        ("experiment=quickstart budget.steps=1 task.heldout=0", 1.387e9),
    ],
)
def test_memory_is_what_was_measured(settings: str, measured: float) -> None:
    """peak_memory_bytes of summary.json, on two CPU cores that multiply bfloat16."""
    assert total(plan(compose([*settings.split(), "model.dtype=bfloat16"]))) == pytest.approx(measured, rel=0.25)


def test_a_plan_for_recurrent_layers_counts_what_is_there_and_shares_no_trunk() -> None:
    """Of Qwen3.5-4B every fourth layer is attention; a row keeps a state for each of the others."""
    setting = ["model=qwen3.5-4b", "space.modules=[caller]", "space.layers=24-31", "model.dtype=bfloat16"]
    both = plan(compose([*setting, "space.sites=[o_proj,in_proj_qkv,q_proj]"]))
    assert both.searched_numbers == 2 * (2560 + 16 * 256 * 2) + 6 * (2 * 16 * 128 + 32 * 128)
    one = plan(compose([*setting, "backend.max_batch_rows=1"]))
    off = ["backend.share_trunk=false", "backend.draft=false"]
    two = plan(compose([*setting, "backend.max_batch_rows=2", *off]))
    assert one.computed_tokens == two.computed_tokens
    state = 24 * (32 * 128 * 128 + 4 * (2 * 16 * 128 + 32 * 128)) * 4
    slots = (150 + 2 * (25 + 33)) * 2 * 8 * 4 * 256 * 2
    assert two.memory_bytes["kv_cache"] - one.memory_bytes["kv_cache"] == state + slots  # type: ignore[operator]
