from pathlib import Path

from esagent.report.rows import read_history


def test_history_of_a_run(finished: Path) -> None:
    history = read_history(finished)
    assert [e.step for e in history.evaluations["pool"]] == [0, 2, 4]
    assert len(history.evaluations["heldout"][0].rewards) == 32
    assert [m[0] for m in history.members] == [0, 1, 2, 3]
    assert history.summary["seed"] == 0


def test_torn_doubled_and_unscored_rows(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(
        '{"kind": "evaluation", "step": 0, "split": "pool", "mean": 0.1}\n'
        '{"kind": "evaluation", "step": 0, "split": "pool", "mean": 0.5, "rewards": [0.5, null], "tasks": ["a", "b"]}\n'
        '{"kind": "evaluation", "step": 1, "split": "pool", "mean": null}\n'
        '{"kind": "step", "step": 0, "reward_mean": null}\n'
        '{"kind": "step", "step": 1, "reward_mean": 0.4, "reward_std": null}\n'
        '{"kind": "ste'
    )
    history = read_history(tmp_path)
    (evaluation,) = history.evaluations["pool"]
    assert (evaluation.mean, evaluation.rewards, evaluation.tasks) == (0.5, (0.5,), ("a",))
    assert history.members == [(1, 0.4, 0.0)]
    assert history.summary == {}


def test_a_run_without_metrics(tmp_path: Path) -> None:
    assert read_history(tmp_path).evaluations == {}
