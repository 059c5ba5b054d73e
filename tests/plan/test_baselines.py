"""ES and GRPO from first principles against what the papers state for a 4B model."""

from __future__ import annotations

import pytest

from esagent.models.catalog import CATALOG
from esagent.plan.baselines import LORA_RANK, baselines, lora_numbers

SIZES = CATALOG["qwen3.5-4b"].architecture
STATED = {"ES": (8.68, 0.032), "LoRA GRPO": (18.55, 3.0), "full GRPO": (69.44, 3.0)}
TOLERANCE = 0.08


@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("thousands", [0, 1, 4, 8, 16, 32, 64])
def test_memory_is_what_copes_states(name: str, thousands: int) -> None:
    """GB with L in thousand tokens (arXiv 2608.02391)."""
    fixed, slope = STATED[name]
    found = {b.name: b for b in baselines(SIZES, 1.0, 1000 * thousands)}[name]
    assert found.memory_bytes / 1e9 == pytest.approx(fixed + slope * thousands, rel=TOLERANCE)
    assert found.fixed_bytes / 1e9 == pytest.approx(fixed, rel=TOLERANCE)
    assert found.token_bytes / 1e6 == pytest.approx(slope, rel=TOLERANCE)


def test_figures_of_the_docstring() -> None:
    es, lora, full = baselines(SIZES, 1.0, 0)
    assert [round(b.fixed_bytes / 1e9, 2) for b in (es, lora, full)] == [8.41, 17.99, 67.29]
    assert [round(b.token_bytes / 1e6, 3) for b in (es, lora, full)] == [0.033, 2.785, 2.785]


def test_the_order_holds_for_every_known_model() -> None:
    for entry in CATALOG.values():
        es, lora, full = baselines(entry.architecture, 1e6, 4000)
        assert es.memory_bytes < lora.memory_bytes < full.memory_bytes
        assert es.step_flops == 2e6 * entry.architecture.parameters
        assert lora.step_flops == full.step_flops == 8e6 * entry.architecture.parameters


def test_adapters_by_hand() -> None:
    """SmolLM2-135M: 30 layers of q, o 576 x 576; k, v 576 x 192; gate, up, down 576 x 1536."""
    sizes = CATALOG["smollm2-135m"].architecture
    sides = 2 * (576 + 576) + 2 * (576 + 192) + 3 * (576 + 1536)
    assert lora_numbers(sizes, LORA_RANK) == 32 * 30 * sides
