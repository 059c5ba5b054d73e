"""Budgets that are not equal, and too few seeds or tasks for what is claimed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from esagent.assemble import assemble
from esagent.config.compose import compose
from esagent.config.schema import BudgetConfig, Select
from esagent.guards.budgets import budgets, unequal
from esagent.guards.power import power, smallest_shown, tasks_for
from esagent.guards.subject import Subject
from tests.helpers.guarded import looked, only, vector_subject

STUDY = """name: pilot
metric: {metric}
alpha: 0.05
margin: {margin}
seeds: 0-{last}
test: sign_flip
baseline: uniform
arms:
  uniform: {{allocation.name: uniform, budget.steps: 4}}
  soft: {{allocation.name: soft, budget.steps: {steps}}}
hypotheses:
  soft_is_better: {{claim: different, arms: [soft]}}
  soft_is_no_better: {{claim: no_better, arms: [soft]}}
"""


def studied(folder: Path, *, last: int = 7, steps: int = 4, metric: str = "auc", margin: float = 0.02) -> Subject:
    """A run of a study with so many seeds, whose arms make so many steps."""
    path = folder / "study.yml"
    path.write_text(STUDY.format(last=last, steps=steps, metric=metric, margin=margin))
    config = compose(["task=synthetic", "budget.steps=4", f"study={path}"])
    return Subject(config, assemble(config))


def test_arms_of_unequal_budgets() -> None:
    four, eight = compose(["budget.steps=4"]), compose(["budget.steps=8"])
    found = only(list(unequal([four, eight])))
    assert found.figure == 2.0
    assert [f.level for f in unequal([four, four])] == ["ok"]
    tokens = compose(["budget=tokens"])
    assert "tokens" in only(list(unequal([four, tokens]))).cause


def test_arms_of_a_study(tmp_path: Path) -> None:
    assert only(looked(budgets, studied(tmp_path, steps=6))).figure == 1.5
    assert looked(budgets, studied(tmp_path)) == []
    assert list(budgets(vector_subject())) == []


def test_seeds_that_cannot_show_anything(tmp_path: Path) -> None:
    """Five give 2/32 at the least, two-sided; six give 1/32, which Holm's strictest step over two does not take."""
    found = only([f for f in looked(power, studied(tmp_path, last=4)) if f.level == "fault"])
    assert found.figure == 2 / 32
    assert "declare 7 seeds" in found.remedy
    assert only(looked(power, studied(tmp_path, last=5)), "note").figure == 1 / 32
    assert looked(power, studied(tmp_path, last=6)) == []


def test_held_out_tasks_too_few_for_the_margin(tmp_path: Path) -> None:
    """128 tasks: 1.96 * 0.5 / sqrt(128) = 0.087."""
    found = only(looked(power, studied(tmp_path, metric="heldout")))
    assert found.figure == pytest.approx(0.0866, abs=1e-4)
    assert "task.heldout=2401" in found.remedy
    assert looked(power, studied(tmp_path, metric="heldout", margin=0.1)) == []


def test_a_validation_set_that_chooses_by_chance() -> None:
    subject = vector_subject()
    task = replace(subject.config.task, validation=8)
    chosen = replace(subject.config, task=task, budget=BudgetConfig(2, select=Select.validation))
    found = only(looked(power, Subject(chosen, subject.parts)), "note")
    assert "8 tasks of validation" in found.cause
    assert found.figure == pytest.approx(smallest_shown(8))
    assert looked(power, Subject(replace(chosen, budget=BudgetConfig(2, select=Select.last)), subject.parts)) == []


def test_what_tasks_can_show() -> None:
    """z_0.975 + z_0.8 = 2.80; of 196 tasks with s = 0.5: 2.8 * 0.5 / 14."""
    assert smallest_shown(196) == pytest.approx(0.1)
    assert tasks_for(0.1) == 196
    assert smallest_shown(0) == float("inf")
