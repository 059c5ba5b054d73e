"""`python -m esagent.synthetic`: the routing study on the synthetic chain, from its files in conf/ to its tables."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from esagent.config.compose import compose
from esagent.config.schema import Config
from esagent.config.study import Study, load_study
from esagent.errors import ConfigError
from esagent.stats.verdicts import judge
from esagent.synthetic import sweeps as explored
from esagent.synthetic import tables
from esagent.synthetic.arms import Arm, make_arm, run_arms
from esagent.synthetic.findings import told
from esagent.synthetic.many import SyntheticRun

Runs = dict[str, dict[str, list[SyntheticRun]]]
"""By part of the study and label of an arm."""

BLOCK = "caller"
"""The module whose directions and movement the table of arms shows: the bottleneck of the study's chain."""


def main() -> int:
    """Run everything, print the findings, write the tables."""
    parser = argparse.ArgumentParser(prog="python -m esagent.synthetic", description=__doc__)
    parser.add_argument("--experiment", default="routing/synthetic", help="of conf/experiment; what arms start from")
    parser.add_argument(
        "--files", default="conf/experiment/routing/synthetic", help="FILES.study.yml, FILES.sweeps.yml"
    )
    parser.add_argument("--output", default="docs/studies/routing-synthetic", help="folder for the tables")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    asked = parser.parse_args()
    try:
        _study(asked.experiment, asked.files, Path(asked.output), max(1, asked.jobs))
    except ConfigError as error:
        for problem in error.problems:
            print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


def _study(experiment: str, files: str, output: Path, jobs: int) -> None:
    started = time.monotonic()
    base = compose([f"experiment={experiment}"])
    study, sweeps = load_study(f"{files}.study.yml"), explored.load_sweeps(Path(f"{files}.sweeps.yml"))
    parts = {
        "arms": [make_arm(label, base, [own], study.seeds) for label, own in study.arms.items()],
        "tuning": list(explored.tuning_arms(sweeps, base)),
        "responses": list(explored.response_arms(sweeps, base, study.seeds)),
        "sensitivity": list(explored.sensitivity_arms(sweeps, study, base)),
    }
    output.mkdir(parents=True, exist_ok=True)
    arms = [Arm(f"{part}: {arm.label}", arm.config, arm.seeds) for part, own in parts.items() for arm in own]
    done = _run(arms, jobs)
    runs = {part: {arm.label: done[f"{part}: {arm.label}"] for arm in own} for part, own in parts.items()}
    seconds, count = time.monotonic() - started, sum(len(arm.seeds) for arm in arms)
    speed = f"{count} runs in {seconds:.0f} s on {jobs} processes: {60 * count / seconds:.0f} runs a minute"
    _write(base, study, sweeps, runs, output, speed)
    print(f"\n{speed}; tables in {output}")


def _run(arms: list[Arm], jobs: int) -> dict[str, list[SyntheticRun]]:
    done: dict[str, list[SyntheticRun]] = {}
    for label, runs in run_arms(arms, jobs):
        done[label] = runs
        if len(done) % 50 == 0 or len(done) == len(arms):
            print(f"{len(done)} of {len(arms)} arms", file=sys.stderr)
    return done


def _write(base: Config, study: Study, sweeps: explored.Sweeps, runs: Runs, output: Path, speed: str) -> None:
    curves = {
        part: {arm: {run.seed: run.auc for run in own} for arm, own in arms.items()} for part, arms in runs.items()
    }
    finals = {arm: {run.seed: run.final for run in own} for arm, own in runs["arms"].items()}
    verdicts = judge(study, {"auc": curves["arms"], "final": finals})
    print("\n".join(told(verdicts)))
    arm_rows = tables.arm_rows(study, runs["arms"], BLOCK)
    responses = explored.responses(sweeps, curves["responses"])
    sensitivity = explored.sensitivity(sweeps, study, curves["sensitivity"])
    tuned = [(*label.split("/"), sum(own.values()) / len(own)) for label, own in curves["tuning"].items()]
    seeds = [
        (arm, run.seed, run.auc, run.pool[0], run.final, *(run.heldout or ("", "")))
        for arm, own in runs["arms"].items()
        for run in own
    ]
    response_head = ("setting", "scheme", "eta", "difference", "low", "high", "p")
    sensitivity_head = ("variation", "uniform", "hypothesis", "estimate", "low", "high", "p", "verdict")
    tables.write_csv(output / "arms.csv", tables.ARM_HEAD, arm_rows)
    tables.write_csv(output / "seeds.csv", ("arm", "seed", "auc", "base", "final", "heldout_base", "heldout"), seeds)
    tables.write_csv(output / "responses.csv", response_head, tables.response_rows(responses))
    tables.write_csv(output / "sensitivity.csv", sensitivity_head, tables.sensitivity_rows(sensitivity))
    tables.write_csv(output / "tuning.csv", ("alpha", "sigma", "auc"), tuned)
    pages = (
        ("Findings", tables.findings_table(verdicts)),
        ("Arms", tables.markdown(tables.ARM_HEAD, tables.rounded(arm_rows))),
        ("Response to credit noise", tables.response_table(responses, sweeps.noise)),
        ("Sensitivity", tables.sensitivity_table(sensitivity)),
        ("Expected first step of the caller", tables.step_table(base, BLOCK)),
        ("Tuning of uniform", tables.markdown(("alpha", "sigma", "AUC"), tables.rounded(tuned))),
    )
    head = f"<!-- Written by `make study-routing`; {speed}; study sha256 {study.sha256} -->\n"
    (output / "tables.md").write_text(head + "".join(f"\n# {title}\n\n{table}" for title, table in pages))


if __name__ == "__main__":
    sys.exit(main())
