"""A run belongs to the configuration it was made with, wherever the folder lies now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from omegaconf import OmegaConf

from esagent.config.export import job_key, to_dict
from esagent.config.schema import BudgetConfig, Config
from esagent.runs.directory import RunDirectory
from esagent.runs.matching import find_preempted, find_runs, folder_of


def make(config: Config, run_id: str) -> RunDirectory:
    run = RunDirectory(folder_of(config) / run_id)
    run.path.mkdir(parents=True)
    run.config.write_text(OmegaConf.to_yaml(OmegaConf.create(to_dict(config))))
    return run


def test_the_key_is_all_settings_but_the_folder() -> None:
    config = Config()
    assert job_key(config) == job_key(replace(config, runs_dir="elsewhere"))
    for other in (replace(config, seed=1), replace(config, name="b"), replace(config, budget=BudgetConfig(steps=3))):
        assert job_key(config) != job_key(other)


def test_found_by_settings_and_damage_is_passed_over(tmp_path: Path) -> None:
    config = Config(runs_dir=str(tmp_path))
    make(replace(config, seed=1), "20260101-000000-s1")
    run = make(config, "20260101-000000-s0")
    later = make(config, "20260102-000000-s0")
    for number, text in enumerate(["a: [1", "7", "sede: 3", "seed: x", ""]):
        broken = make(config, f"20260103-00000{number}-s0")
        broken.config.write_text(text)
    found = find_runs(folder_of(config))
    assert found[job_key(config)].run == later
    run.summary.write_text("{}")
    assert find_runs(folder_of(config))[job_key(config)].run == run
    assert find_runs(folder_of(config))[job_key(config)].finished
    run.summary.write_text("{")
    assert find_runs(folder_of(config))[job_key(config)].run == later, "a result that cannot be read is none"
    (later.path / "manifest.json").write_text('{"forked_from": {"run": "default/x", "steps": 2}}')
    assert find_runs(folder_of(config))[job_key(config)].run == run, (
        "a fork is not a run of its settings from the start"
    )
    assert find_runs(tmp_path / "nowhere") == {}


def test_only_a_run_that_a_scheduler_stopped_goes_on_by_itself(tmp_path: Path) -> None:
    config = Config(runs_dir=str(tmp_path))
    run = make(config, "20260101-000000-s0")
    assert find_preempted(config) is None
    run.preempted.touch()
    assert find_preempted(config) == run
    assert find_preempted(replace(config, seed=1)) is None
    run.summary.write_text("{}")
    assert find_preempted(config) is None
