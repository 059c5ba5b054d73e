"""The study's files fit together, and its tables say what its runs did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from esagent.config.compose import compose
from esagent.config.export import to_dict
from esagent.config.study import Study, dotted, load_study
from esagent.errors import ConfigError
from esagent.stats.verdicts import judge
from esagent.synthetic.arms import baseline_of, make_arm, run_arms
from esagent.synthetic.findings import told
from esagent.synthetic.many import SyntheticRun, run_many, unsupported
from esagent.synthetic.memory import Memory
from esagent.synthetic.sweeps import load_sweeps, response_arms, responses, sensitivity, sensitivity_arms, tuning_arms
from esagent.synthetic.tables import ARM_HEAD, arm_rows, findings_table, response_rows, sensitivity_rows
from tests.synthetic.configs import short

FILES = Path(__file__).parents[2] / "conf" / "experiment" / "routing"
STUDY = FILES / "synthetic.study.yml"
SWEEPS = FILES / "synthetic.sweeps.yml"


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study(STUDY)


def test_every_arm_is_sound_and_no_other_one(study: Study) -> None:
    base = compose(["experiment=routing/synthetic"])
    for label, own in study.arms.items():
        arm = make_arm(label, base, [own], study.seeds)
        assert study.arms_of(dotted(to_dict(arm.config))) == [label]
        assert list(unsupported(arm.config)) == []
        assert baseline_of(study, label) in ("uniform", "uniform_moving", "uniform_total")
    assert baseline_of(study, "argmax_wrong_total") == "uniform_total"
    assert baseline_of(study, "shuffled") == "uniform"


def test_every_sweep_is_sound(study: Study) -> None:
    base, sweeps = compose(["experiment=routing/synthetic"]), load_sweeps(SWEEPS)
    assert not set(sweeps.tuning_seeds) & set(study.seeds), "tuned on the seeds that are judged"
    assert len(list(tuning_arms(sweeps, base))) == 9
    assert len(list(response_arms(sweeps, base, study.seeds))) == 5 * (1 + 6 * 5)
    varied = list(sensitivity_arms(sweeps, study, base))
    assert len(varied) == len(sweeps.arms) * len(sweeps.variations)
    assert len({str(to_dict(arm.config)) for arm in varied}) == len(varied), "two variations are the same"


def test_the_base_settings_are_the_best_of_their_grid_on_tuning_seeds() -> None:
    """As the experiment's header says, by the table that the study wrote."""
    rows = (Path(__file__).parents[2] / "docs/studies/routing-synthetic/tuning.csv").read_text().split()[1:]
    alpha, sigma, _ = max((row.split(",") for row in rows), key=lambda row: float(row[2]))
    base = compose(["experiment=routing/synthetic"])
    assert (float(alpha), float(sigma)) == (base.algorithm.step.start, base.sigma.start)


def test_settings_that_do_not_fit_name_their_arm() -> None:
    with pytest.raises(ConfigError, match=r"arm wrong: allocation\.bottleneck=caller"):
        make_arm("wrong", short(), [{"allocation.bottleneck": "caller"}], [0])
    with pytest.raises(ConfigError, match="is no file of sweeps"):
        load_sweeps(STUDY)


@pytest.fixture(scope="module")
def ran(study: Study) -> dict[str, list[SyntheticRun]]:
    """All arms of the study on 3 seeds and 5 steps, with two directions for each module."""
    base, memory = short("algorithm.directions=8"), Memory()
    arms = (make_arm(label, base, [own], range(3)) for label, own in study.arms.items())
    return {arm.label: run_many(arm.config, arm.seeds, memory) for arm in arms}


def test_arms_that_must_be_the_same_are(ran: dict[str, list[SyntheticRun]]) -> None:
    """uniform under both norms, with four times alpha, and as starvation of nothing."""
    for same in ("uniform_total", "starved_0"):
        assert [run.auc for run in ran[same]] == [run.auc for run in ran["uniform"]]
        assert ran[same][1].skills == pytest.approx(ran["uniform"][1].skills, rel=1e-4)
    assert all(run.final == run.pool[0] == run.auc for run in ran["frozen"])
    assert all(run.blocks["caller"]["starved"] == 1.0 for run in ran["starved_100"])


def test_tables_hold_what_ran(study: Study, ran: dict[str, list[SyntheticRun]]) -> None:
    small = replace(study, seeds=(0, 1, 2))
    curves = {arm: {run.seed: run.auc for run in runs} for arm, runs in ran.items()}
    verdicts = judge(small, {"auc": curves})
    text = "\n".join(told(verdicts))
    assert all(h.id in text and f"`{h.id}`" in findings_table(verdicts) for h in study.hypotheses)
    rows = {row[0]: dict(zip(ARM_HEAD, row, strict=True)) for row in arm_rows(small, ran, "caller")}
    assert list(rows) == list(study.arms)
    mean = sum(curves["soft_total"][seed] - curves["uniform_total"][seed] for seed in range(3)) / 3
    assert rows["soft_total"]["difference"] == pytest.approx(mean)


def test_sweeps_are_judged_against_uniform(study: Study) -> None:
    sweeps, small = load_sweeps(SWEEPS), replace(study, seeds=(0, 1, 2))
    sweeps = replace(sweeps, noise=(0.0, 0.5, 1.0), settings={"fixed": {}}, variations={"as it is": {}})
    base, memory = short("budget.steps=2"), Memory()
    arms = [*response_arms(sweeps, base, small.seeds), *sensitivity_arms(sweeps, small, base)]
    found = {arm.label: {run.seed: run.auc for run in run_many(arm.config, arm.seeds, memory)} for arm in arms}
    rows = response_rows(responses(sweeps, found))
    assert [row[:3] for row in rows[:3]] == [("fixed", "soft", 0.0), ("fixed", "soft", 0.5), ("fixed", "soft", 1.0)]
    lost = [found["fixed/soft/0.5"][seed] - found["fixed/uniform"][seed] for seed in range(3)]
    assert rows[1][3] == pytest.approx(sum(lost) / 3)
    judged = {row[2] for row in sensitivity_rows(sensitivity(sweeps, small, found))}
    assert {"no_scheme_beats_uniform", "loss_is_linear_in_starvation", "catchup_recovers"} <= judged
    assert "misrouting_harms_total" not in judged


def test_processes_give_what_one_would() -> None:
    arms = [
        make_arm(name, short("budget.steps=2"), [{"allocation.name": name}], [0, 1]) for name in ("uniform", "soft")
    ]
    found = dict(run_arms(arms, 2))
    assert [run.auc for run in found["soft"]] == [run.auc for run in run_many(arms[1].config, [0, 1])]
