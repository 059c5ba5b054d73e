"""Splits, generators, files and options of the math family."""

from __future__ import annotations

import json
import re
import sys
import types
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.agents.react import ReactAgent
from esagent.config import check, names
from esagent.core.episode import Request
from esagent.errors import ConfigError, EnvironmentFailure
from esagent.rollout import rollout
from esagent.tasks.base import Split
from esagent.tasks.math import MathFamily, family, rows, symbolic
from esagent.tasks.math.generators import GENERATORS
from esagent.tasks.math.templates import TEMPLATES
from esagent.tasks.neighbours import near_duplicates
from esagent.tasks.toolbox.draw import split_of
from tests.agents.scripted import ScriptedBackend
from tests.helpers.data import ROOT, data
from tests.tasks.math.pairs import PAIRS

SPLITS: tuple[Split, ...] = get_args(Split)
ALL = [template for templates in TEMPLATES.values() for template in templates]


def test_no_sentence_and_no_formula_belongs_to_two_templates() -> None:
    assert len({template.text for template in ALL}) == len({template.formula for template in ALL}) == len(ALL)
    assert not {i for i, first in enumerate(near_duplicates([t.text for t in ALL])) if first != i}


@pytest.mark.parametrize("template", ALL, ids=lambda template: template.name)
@settings(max_examples=15)
@given(data=st.data())
def test_a_formula_is_the_value(template, data: st.DataObject) -> None:  # type: ignore[no-untyped-def]
    numbers = [data.draw(st.integers(low, high)) for low, high in template.ranges]
    slots = dict(zip("abcd", numbers, strict=False))
    value = eval(template.formula.format(**slots))
    assert value == template.value(*numbers)
    assert type(value) is int
    if template.fits(*numbers):
        assert value >= 0


def test_numbers_belong_to_the_split() -> None:
    for split in SPLITS:
        for task in MathFamily().tasks(split, 1, 60):
            written = [int(word) for word in re.findall(r"\d+", task.prompt) if word != "1"]
            assert {split_of(number) for number in written} == {split}


@pytest.mark.parametrize("generator", GENERATORS)
def test_splits_share_no_template(generator: str) -> None:
    kinds = [{task.kind for task in MathFamily(generators=[generator]).tasks(s, 0, 200)} for s in SPLITS]
    assert sum(map(len, kinds)) == len(set().union(*kinds))
    assert min(map(len, kinds)) >= 5


def test_both_generators_together() -> None:
    found = MathFamily(generators=["integers", "gsm_symbolic"]).tasks("train", 0, 40)
    assert {task.kind.partition(":")[0] for task in found} == {"integers", "gsm_symbolic"}


def test_symbolic_templates_are_sound_and_loading_them_leaves_no_trace() -> None:
    templates = symbolic._templates()
    assert not [name for name in sys.modules if name.startswith("reasoning_gym")]
    made = {number: [symbolic.variation(templates[number], seed) for seed in range(3)] for number in symbolic.SOUND}
    assert len(made) == 83
    assert not [number for number, found in made.items() if None in found]


def test_without_the_package_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbolic, "_PACKAGE", "no_such_package")
    with pytest.raises(EnvironmentFailure, match="pip install --no-deps reasoning-gym"):
        MathFamily(generators=["gsm_symbolic"])


def test_an_episode_has_five_calls_and_then_no_more() -> None:
    made = MathFamily()
    env = made.env(made.tasks("train", 0, 1)[0])
    results = [env.call("python", {"code": f"{i} + 1"}) for i in range(6)]
    assert [result.output for result in results[:5]] == ["1", "2", "3", "4", "5"]
    assert not results[5].ok
    assert results[5].output == "no call is left; there were 5"


def test_a_single_policy_solves_every_template_with_its_formula() -> None:
    made = MathFamily()
    tasks = [task for split in SPLITS for task in made._one_each(split)]
    codes = {task.prompt: task.payload["code"] for task in tasks}

    def policy(request: Request) -> str:
        asked, _, seen = request.prompt.partition("\nObservation: ")
        if seen:
            return f" That is it.\nAnswer: {seen.partition(chr(10))[0]}"
        return f" I compute it.\nAction: python({next(code for prompt, code in codes.items() if prompt in asked)})"

    episodes = rollout(ReactAgent(), made, ScriptedBackend(policy), (), tasks)
    assert [episode.score.reward for episode in episodes] == [1.0] * 25


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"level": "easy"}, "no level 'easy'; there are procedural, gsm8k"),
        ({"generators": "integers"}, "a list of integers, gsm_symbolic is needed"),
        ({"generators": ["primes"]}, "a list of integers"),
        ({"reward": "best"}, "no 'best'; there are graded, copes, answer"),
        ({"calls": 0}, "whole number of at least 1, not 0"),
        ({"seconds": "long"}, "a number above 0"),
        ({"path": "missing.jsonl"}, r"cannot read missing\.jsonl"),
        ({"path": "missing.jsonl", "shares": [1, 1, 1]}, "three numbers that sum to 1"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        MathFamily(**options)  # type: ignore[arg-type]


def test_the_configuration_check_knows_levels_and_hub_ids() -> None:
    assert names.MATH_LEVELS == family.LEVELS
    assert check._HUB.pattern == rows.HUB_ID.pattern


def test_the_page_counts_right() -> None:
    page = (ROOT / "docs" / "tasks-math.md").read_text()
    sizes = [[len(made.kinds(split)) for split in SPLITS] for made in (make() for make in GENERATORS.values())]
    for counts in sizes:
        assert ", ".join(map(str, counts)) + " templates" in page
    assert f"`integers`: {sum(sizes[0])} templates" in page
    assert f"`gsm_symbolic`: {sum(sizes[1])} templates" in page
    assert f"{len(PAIRS)} pairs" in page


def _write(path: Path, *objects: dict[str, object]) -> Path:
    path.write_text("\n".join(map(json.dumps, objects)))
    return path


def test_rows_in_the_shapes_of_public_data(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "rows.jsonl",
        {"question": "One?", "answer": "so it is\n#### 1,234", "split": "test"},
        {"problem": "Two?", "answer": "\\frac{1}{2}", "split": "test"},
        {"ID": 3, "Problem": "Three?", "Answer": 25, "split": "test"},
    )
    tasks = MathFamily(path=str(path)).tasks("heldout", 0, 3)
    assert {task.payload["answer"] for task in tasks} == {"1,234", "\\frac{1}{2}", "25"}
    assert all(task.prompt.endswith(family.BOXED) for task in tasks)
    assert MathFamily(path=str(path), ask="").tasks("heldout", 0, 3)[0].prompt in ("One?", "Two?", "Three?")


@pytest.mark.parametrize(
    ("second", "part"),
    [
        ({"question": "x"}, "line 2: no text under 'answer'"),
        ({"question": "x", "answer": "see ####"}, "line 2: nothing follows '####'"),
        ({"question": "x", "answer": "1", "split": "tset"}, "line 2: no split 'tset'"),
        ({"question": "One  more?", "answer": "2"}, "rows:2 asks the question of rows:1 with another answer"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, second: dict[str, object], part: str) -> None:
    path = _write(tmp_path / "rows.jsonl", {"question": "One more?", "answer": "1"}, second)
    with pytest.raises(ConfigError, match=part):
        MathFamily(path=str(path))


def test_a_hub_is_asked_through_a_library_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(EnvironmentFailure, match=r"task.level=gsm8k without task.path reads openai/gsm8k.*pip install"):
        MathFamily("gsm8k")
    library = types.ModuleType("datasets")
    asked = []

    def load_dataset(name: str, subset: str | None) -> dict[str, list[dict[str, str]]]:
        asked.append((name, subset))
        return {
            part: [{"question": f"{part} {i}?", "answer": f"#### {i}"} for i in range(9)] for part in ("train", "test")
        }

    library.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)
    assert {task.payload["answer"] for task in MathFamily("gsm8k").tasks("heldout", 0, 9)} == set("012345678")
    MathFamily(path="someone/rows", subset="large")
    assert asked == [("openai/gsm8k", "main"), ("someone/rows", "large")]
    library.load_dataset = lambda name, subset: 1 / 0  # type: ignore[attr-defined]
    with pytest.raises(EnvironmentFailure, match="which fails: division by zero"):
        MathFamily("amc")


@pytest.mark.parametrize(
    ("level", "folder", "sizes"),
    [
        ("math500", "math", {"train": 210, "validation": 74, "heldout": 216}),
        ("amc", "math", {"train": 33, "validation": 14, "heldout": 36}),
        ("aime", "math", {"train": 9, "validation": 1, "heldout": 20}),
    ],
)
def test_public_rows(level: str, folder: str, sizes: dict[str, int]) -> None:
    made = MathFamily(level, str(data(folder)))
    assert {split: len(found) for split, found in made._rows.items()} == sizes
    for split in SPLITS:
        assert len(made.tasks(split, 0, sizes[split])) == sizes[split]
    assert made.validate() == []


def test_gsm8k_keeps_its_test_rows_and_trains_on_nothing_like_them() -> None:
    found = rows.load("gsm8k", str(data("gsm8k")), None, (0.4, 0.15, 0.45))
    assert {split: len(part) for split, part in found.items()} == {"train": 5426, "validation": 2044, "heldout": 659}
    assert all(row.place.startswith("test") for row in found["heldout"])
