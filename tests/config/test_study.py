"""A study file: what it says is read, and every mistake in it gets one line."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from esagent.config.compose import compose
from esagent.config.study import dotted, load_study
from esagent.errors import ConfigError

STUDY = {
    "name": "demo",
    "seeds": "0-3",
    "margin": 0.02,
    "baseline": "answer",
    "arms": {"answer": {"space.positions": "answer"}, "all": {"space": {"positions": "all"}}},
    "hypotheses": {"h": {"claim": "no_better", "arms": ["all"]}},
}
LINE = {"claim": "linear", "x": {"answer": 0, "all": 1, "third": 2}, "r_squared": 0.9}


def write(path: Path, **changes) -> Path:
    path.write_text(yaml.safe_dump(STUDY | changes, sort_keys=False))
    return path


def test_what_it_says(tmp_path: Path) -> None:
    path = write(tmp_path / "study.yaml", exclude=["unfinished", {"base_above": 0.9}], test="t")
    study = load_study(path)
    assert (study.name, study.metric, study.alpha, study.margin, study.test) == ("demo", "auc", 0.05, 0.02, "t")
    assert study.seeds == (0, 1, 2, 3)
    assert study.arms == {"answer": {"space.positions": "answer"}, "all": {"space.positions": "all"}}
    assert study.exclude == {"unfinished": 0.0, "base_above": 0.9}
    (h,) = study.hypotheses
    assert (h.id, h.claim, h.arms, h.against, h.metric, h.margin, h.family) == (
        "h",
        "no_better",
        ("all",),
        "answer",
        "auc",
        0.02,
        "main",
    )
    assert study.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert study.stamp == {"name": "demo", "file": str(path), "sha256": study.sha256}


def test_margins_belong_to_claims_that_need_one(tmp_path: Path) -> None:
    claims = {c: {"claim": c, "arms": "all"} for c in ("better", "worse", "different", "equivalent", "no_worse")}
    claims["far"] = {"claim": "better", "arms": ["all"], "margin": 0.1}
    study = load_study(write(tmp_path / "study.yaml", hypotheses=claims))
    margins = {h.id: h.margin for h in study.hypotheses}
    assert margins == {"better": 0, "worse": 0, "different": 0, "equivalent": 0.02, "no_worse": 0.02, "far": 0.1}


def test_families_and_lines(tmp_path: Path) -> None:
    arms = STUDY["arms"] | {"third": {"space.rank": 3}}
    hypotheses = {"h": STUDY["hypotheses"]["h"], "l": LINE | {"family": "lines"}}
    study = load_study(write(tmp_path / "study.yaml", arms=arms, hypotheses=hypotheses))
    assert {name: [h.id for h in members] for name, members in study.families.items()} == {
        "main": ["h"],
        "lines": ["l"],
    }
    line = study.hypotheses[1]
    assert (line.arms, dict(line.x), line.r_squared) == (
        ("answer", "all", "third"),
        {"answer": 0, "all": 1, "third": 2},
        0.9,
    )


def test_runs_belong_to_the_arm_whose_settings_they_have(tmp_path: Path) -> None:
    arms = {"cheap": {"budget.steps": 4.0}, "deep": {"budget.steps": 8, "seed": True}}
    study = load_study(
        write(
            tmp_path / "study.yaml", arms=arms, baseline="cheap", hypotheses={"h": {"claim": "better", "arms": "deep"}}
        )
    )
    assert study.arms_of({"budget.steps": 4, "seed": 1}) == ["cheap"]
    assert study.arms_of({"budget.steps": 8, "seed": 1}) == []  # 1 is not true
    assert study.arms_of({"seed": 4}) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"marign": 0.02}, "marign: did you mean margin?"),
        ({"name": "a b"}, "name='a b'"),
        ({"metric": "auk"}, "metric=auk: did you mean auc?"),
        ({"alpha": 0.7}, "alpha=0.7: a number between 0 and 0.5"),
        ({"alpha": True}, "alpha=True"),
        ({"margin": -1}, "margin=-1: a number above 0"),
        ({"seeds": [1, 1]}, r"seeds=\[1, 1\]: whole numbers, each once"),
        ({"seeds": "4-1"}, "seeds="),
        ({"test": "u"}, "test=u: choose from"),
        ({"baseline": "anser"}, "baseline=anser: did you mean answer?"),
        ({"baseline": ["answer"]}, "baseline="),
        ({"arms": {}}, "arms: at least one"),
        ({"arms": {"answer": {"space.positon": 1}}}, r"positon: is no setting; did you mean space.positions"),
        ({"arms": {"answer": 3}}, "arms.answer: settings are needed"),
        ({"exclude": ["unfinishd"]}, "exclude.unfinishd: did you mean unfinished?"),
        ({"exclude": ["base_above"]}, "exclude.base_above: needs a number"),
        ({"exclude": [{"fork": 2}]}, "exclude.fork: takes no number"),
        ({"exclude": [{"base_above": 2}]}, "exclude.base_above=2"),
        ({"hypotheses": {"h": 3}}, "hypotheses.h: needs claim and arms"),
        ({"hypotheses": {"h": {"claim": "no_beter", "arms": "all"}}}, "claim=no_beter: did you mean no_better?"),
        ({"hypotheses": {"h": {"claim": "better", "arms": "al"}}}, "arms.al: did you mean all?"),
        ({"hypotheses": {"h": {"claim": "better"}}}, "arms=None"),
        ({"hypotheses": {"h": {"claim": "better", "arms": "answer"}}}, "answer is what it is compared with"),
        ({"hypotheses": {"h": {"claim": "better", "arms": "all", "x": {}}}}, "x: the claim better takes none"),
        ({"hypotheses": {"h": {"claim": "better", "arms": "all", "fmaily": 1}}}, "fmaily: did you mean family?"),
        ({"hypotheses": {"h": {"claim": "linear", "x": {"all": 1}}}}, "three different numbers"),
        ({"hypotheses": {"h": LINE}}, "arms.third"),
        ({"margin": None}, "h.margin: the claim no_better needs one"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: Path, changes: dict, says: str) -> None:
    path = write(tmp_path / "study.yaml", **changes)
    with pytest.raises(ConfigError, match=says) as caught:
        load_study(path)
    assert caught.value.exit_code == 2
    assert all(problem.startswith(f"study={path}: ") and "\n" not in problem for problem in caught.value.problems)


@pytest.mark.parametrize("key", ["name", "seeds", "baseline", "arms", "hypotheses"])
def test_what_is_missing_is_named(tmp_path: Path, key: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in STUDY.items() if k != key}, sort_keys=False))
    with pytest.raises(ConfigError, match=f"{key}: is missing"):
        load_study(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, 2]", "is a list, not a mapping"),
        ("a: [", "is no YAML"),
        ("name: a\nname: b\n", "name stands there twice"),
        ("\x00", "is no YAML"),
    ],
)
def test_what_is_no_study(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        load_study(path)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match="it is no text"):
        load_study(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_study(tmp_path)


def test_a_run_outside_of_its_study_is_refused_before_it_starts(tmp_path: Path) -> None:
    path = write(tmp_path / "study.yaml")
    config = compose([f"study={path}", "space.positions=all", "seed=3"])
    assert config.study == str(path)
    assert load_study(path).arms_of(dotted({"space": {"positions": "all"}})) == ["all"]
    with pytest.raises(ConfigError, match="seed=4: study demo declares the seeds 0, 1, 2, 3"):
        compose([f"study={path}", "seed=4"])
    narrow = write(tmp_path / "narrow.yaml", arms=STUDY["arms"] | {"answer": {"space.rank": 3}})
    with pytest.raises(ConfigError, match="are of none of its arms; it declares answer, all"):
        compose([f"study={narrow}", "space.positions=answer"])
    wide = write(tmp_path / "wide.yaml", arms=STUDY["arms"] | {"answer": {"seed": 0}})
    with pytest.raises(ConfigError, match=r"belong to several of its arms \(answer, all\)"):
        compose([f"study={wide}", "space.positions=all"])
    with pytest.raises(ConfigError, match=r"study=nothing\.yaml: cannot be read"):
        compose(["study=nothing.yaml"])
