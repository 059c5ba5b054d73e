"""Verdicts over made-up numbers: what holds, fails and stays open, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.config.study import Study, load_study
from esagent.stats.inversion import sign_flip_interval
from esagent.stats.verdicts import FAILS, HOLDS, UNDECIDED, Verdict, judge

EFFECTS = {"base": 0.0, "same": 0.0, "up": 0.05, "down": -0.05, "half": -0.02, "all": -0.04}


def study(folder: Path, hypotheses: dict[str, Any], seeds: int = 8, **changes: Any) -> Study:
    path = folder / "study.yaml"
    data = {
        "name": "demo",
        "seeds": f"0-{seeds - 1}",
        "margin": 0.02,
        "baseline": "base",
        "arms": {arm: {"space.rank": i + 1} for i, arm in enumerate(EFFECTS)},
        "hypotheses": hypotheses,
    }
    path.write_text(yaml.safe_dump(data | changes, sort_keys=False))
    return load_study(path)


def values(seeds: int = 8, noise: float = 0.004) -> dict[str, dict[str, dict[int, float]]]:
    rng = np.random.default_rng(0)
    level = rng.normal(0.5, 0.1, seeds)
    return {
        "auc": {
            arm: {seed: float(level[seed] + effect + rng.normal(0, noise)) for seed in range(seeds)}
            for arm, effect in EFFECTS.items()
        }
    }


def verdicts(found: tuple[Verdict, ...]) -> dict[str, str]:
    return {verdict.hypothesis.id: verdict.verdict for verdict in found}


def test_each_claim(tmp_path: Path) -> None:
    rules = study(
        tmp_path,
        {
            "up": {"claim": "better", "arms": "up"},
            "down": {"claim": "worse", "arms": "down"},
            "not_up": {"claim": "no_better", "arms": ["same", "down"]},
            "not_down": {"claim": "no_worse", "arms": "same"},
            "same": {"claim": "equivalent", "arms": "same"},
            "other": {"claim": "different", "arms": "up"},
            "line": {"claim": "linear", "x": {"base": 0, "half": 0.5, "all": 1}, "r_squared": 0.9},
        },
    )
    found = judge(rules, values())
    assert verdicts(found) == dict.fromkeys(verdicts(found), HOLDS)
    line = found[-1].line
    assert line is not None
    assert line.test.mean == pytest.approx(0.04, abs=0.005)


def test_opposites_fail(tmp_path: Path) -> None:
    rules = study(
        tmp_path,
        {
            "up": {"claim": "worse", "arms": "up"},
            "down": {"claim": "better", "arms": "down"},
            "not_up": {"claim": "no_better", "arms": ["same", "up"]},
            "same": {"claim": "equivalent", "arms": "down"},
            "line": {"claim": "linear", "x": {"all": 0, "half": 0.5, "base": 1}},
        },
    )
    found = judge(rules, values())
    assert verdicts(found) == dict.fromkeys(verdicts(found), FAILS)
    assert "the opposite is shown" in found[0].why


def test_a_large_p_shows_nothing(tmp_path: Path) -> None:
    d = [0.05, -0.04, 0.03, -0.03, 0.06, -0.05, 0.02, -0.01]
    there = {"auc": {"base": dict.fromkeys(range(8), 0.5), "same": {seed: 0.5 + x for seed, x in enumerate(d)}}}
    rules = study(tmp_path, {"up": {"claim": "better", "arms": "same"}, "no": {"claim": "no_better", "arms": "same"}})
    up, no = judge(rules, there)
    assert min(up.p, up.opposite, no.p, no.opposite) > 0.05
    assert no.contrasts[0].interval.high > 0.02
    assert (up.verdict, no.verdict) == (UNDECIDED, UNDECIDED)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-0.1, 0.1).map(lambda x: round(x, 5)), min_size=6, max_size=6))
def test_no_better_holds_when_the_upper_bound_is_below_the_margin(tmp_path_factory, d: list[float]) -> None:
    rules = study(tmp_path_factory.mktemp("s"), {"h": {"claim": "no_better", "arms": "up"}}, seeds=6)
    (found,) = judge(
        rules, {"auc": {"base": dict.fromkeys(range(6), 0.5), "up": {i: 0.5 + x for i, x in enumerate(d)}}}
    )
    (contrast,) = found.contrasts
    assert contrast.interval == pytest.approx(sign_flip_interval(d, 0.9), abs=1e-9)
    if abs(contrast.interval.high - 0.02) > 1e-6 and abs(contrast.interval.low - 0.02) > 1e-6:
        assert (found.verdict == HOLDS) == (contrast.interval.high < 0.02)
        assert (found.verdict == FAILS) == (contrast.interval.low > 0.02)


def test_holm_counts_the_family_and_no_other(tmp_path: Path) -> None:
    """Eight equal signs give p = 1/256 one-sided; over 16 it is 1/16."""
    sure = {f"h{i}": {"claim": "better", "arms": "up", "family": "many"} for i in range(16)}
    alone = {"alone": {"claim": "better", "arms": "up", "family": "one"}}
    found = {v.hypothesis.id: v for v in judge(study(tmp_path, sure | alone), values())}
    assert (found["alone"].p_adjusted, found["alone"].verdict) == (1 / 256, HOLDS)
    assert (found["h3"].p, found["h3"].p_adjusted, found["h3"].verdict) == (1 / 256, 16 / 256, UNDECIDED)
    assert "8 pairs can give p >= 0.00391 only, and Holm over 16 may ask for 0.00313" in found["h3"].why


def test_one_arm_that_is_better_is_enough_against_and_is_paid_for(tmp_path: Path) -> None:
    rules = study(tmp_path, {"h": {"claim": "no_better", "arms": ["same", "up", "down"]}})
    (found,) = judge(rules, values())
    assert found.opposite == 3 / 256
    assert found.verdict == FAILS


def test_missing_seeds_leave_it_undecided_and_excluded_ones_do_not(tmp_path: Path) -> None:
    rules = study(tmp_path, {"up": {"claim": "better", "arms": "up"}})
    there = values()
    del there["auc"]["up"][3]
    (found,) = judge(rules, there)
    assert (found.verdict, found.missing) == (UNDECIDED, (("up", 3),))
    assert "incomplete: up, seed 3 is missing" in found.why
    assert found.n == 7
    (found,) = judge(rules, there, {"up": {3: "is a fork"}})
    assert (found.verdict, found.n, found.excluded) == (HOLDS, 7, ("up, seed 3: is a fork",))
    (found,) = judge(rules, {}, {arm: dict.fromkeys(range(8), "is a fork") for arm in ("base", "up")})
    assert (found.verdict, found.why) == (UNDECIDED, "no pair is left")
    (found,) = judge(rules, {})
    assert found.verdict == UNDECIDED


def test_a_bent_line_fails_by_its_r_squared(tmp_path: Path) -> None:
    x = {"base": 0, "half": 0.5, "all": 1, "up": 0.9}
    rules = study(tmp_path, {"l": {"claim": "linear", "x": x, "r_squared": 0.9}})
    there = values(noise=0.0005)
    there["auc"]["up"] = {seed: v + 0.005 for seed, v in there["auc"]["base"].items()}
    (found,) = judge(rules, there)
    assert found.line is not None
    assert found.line.fit.r_squared < 0.9
    assert found.verdict == FAILS
    assert "rises" in found.why


def test_student_decides_where_the_exact_test_cannot(tmp_path: Path) -> None:
    rules = study(tmp_path, {"up": {"claim": "better", "arms": "up"}}, seeds=4)
    (found,) = judge(rules, values(4))
    assert (found.verdict, found.p) == (UNDECIDED, 1 / 16)
    assert "4 pairs can give p >= 0.0625 only" in found.why
    (found,) = judge(study(tmp_path, {"up": {"claim": "better", "arms": "up"}}, seeds=4, test="t"), values(4))
    assert found.verdict == HOLDS


def test_metrics_are_told_apart(tmp_path: Path) -> None:
    rules = study(tmp_path, {"h": {"claim": "better", "arms": "up", "metric": "final"}})
    (found,) = judge(rules, {"final": values()["auc"], "auc": {}})
    assert found.verdict == HOLDS
