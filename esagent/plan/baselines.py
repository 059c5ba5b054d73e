"""Memory and compute of ES and of GRPO on a model of any size, from first principles.

Memory, with P parameters of which R are adapters, h the hidden size, n layers, and a batch of one trajectory:

    ES           2 P                       bf16 weights; per token the keys and values in bf16
    LoRA GRPO    2 P + 2 P + 18 R          bf16 weights of policy and reference; of an adapter bf16 weight, and fp32
                                           weight, gradient and two Adam moments; per token 34 h n of activations
    full GRPO    16 P                      bf16 weights and gradients, fp32 weights and two Adam moments; the same

34 h bytes per token and layer is what training keeps with selective recomputation (Korthikanti et al. 2022, arXiv
2205.05198). Compute per trajectory of L tokens: 2 P L for ES, 8 P L for GRPO, which samples (2 P L) and trains (6 P L).

CoPES (arXiv 2608.02391) states for a 4B model, in GB with L in thousand tokens, 8.68 + 0.032 L, 18.55 + 3 L and
69.44 + 3 L. The formulas give 8.41 + 0.033 L, 17.98 + 2.79 L and 67.29 + 2.79 L for Qwen3.5-4B: 8% apart at most.
"""

from __future__ import annotations

from dataclasses import dataclass

from esagent.models.catalog import Architecture
from esagent.plan.searched import linear_shapes

LORA_RANK = 32  # of the papers' LoRA GRPO


@dataclass(frozen=True)
class Baseline:
    """A way to train: bytes whatever the length, bytes per token of the longest text, and both at the job's length.

    step_flops: for as many trajectories of the same length as a step of the job has.
    """

    name: str
    fixed_bytes: float
    token_bytes: float
    memory_bytes: float
    step_flops: float


def baselines(sizes: Architecture, step_tokens: float, longest: int) -> tuple[Baseline, ...]:
    """ES, LoRA GRPO and full GRPO on `sizes`.

    step_tokens: of all trajectories of a step, n L. longest: tokens of the longest text that is kept at once.
    """
    forward = 2.0 * sizes.parameters * step_tokens
    activations = 34.0 * sizes.hidden * sizes.layers
    lora = 4.0 * sizes.parameters + 18.0 * lora_numbers(sizes, LORA_RANK)
    rows = (
        ("ES", 2.0 * sizes.parameters, 2.0 * sizes.kv_numbers_per_token, forward),
        ("LoRA GRPO", lora, activations, 4 * forward),
        ("full GRPO", 16.0 * sizes.parameters, activations, 4 * forward),
    )
    return tuple(Baseline(name, fixed, token, fixed + token * longest, flops) for name, fixed, token, flops in rows)


def lora_numbers(sizes: Architecture, rank: int) -> int:
    """Numbers of adapters of `rank` on all linear layers."""
    return rank * sum(map(sum, linear_shapes(sizes)))
