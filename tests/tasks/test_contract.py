"""What every task family owes: see esagent.tasks.base. Runs over the table in families.py."""

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esagent.core.episode import Completion, Task, ToolCall, ToolResult, Trajectory, Turn
from esagent.errors import ConfigError
from esagent.tasks.base import Split, TaskFamily
from tests.tasks.families import ENDLESS, FAMILIES

SPLITS: tuple[Split, ...] = get_args(Split)


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> TaskFamily:
    return FAMILIES[request.param]()


def _all(family: TaskFamily, n: int = 40) -> list[Task]:
    return [task for split in SPLITS for task in family.tasks(split, 3, n)]


def test_tasks_are_a_prefix_of_more_tasks(family: TaskFamily) -> None:
    for split in SPLITS:
        more = family.tasks(split, 5, 40)
        assert list(family.tasks(split, 5, 17)) == list(more[:17])
        assert len(more) == 40
        assert list(family.tasks(split, 5, 0)) == []


def test_seeds_give_other_tasks(family: TaskFamily) -> None:
    first, second = ([task.content_hash for task in family.tasks("train", seed, 20)] for seed in (0, 1))
    assert first != second


def test_no_task_comes_twice_and_no_split_shares_one(family: TaskFamily) -> None:
    hashes = [task.content_hash for task in _all(family)]
    assert len(set(hashes)) == len(hashes)
    ids = [task.id for task in _all(family)]
    assert len(set(ids)) == len(ids)


def test_tasks_name_their_family_and_split(family: TaskFamily) -> None:
    for split in SPLITS:
        assert {(t.family, t.split) for t in family.tasks(split, 0, 5)} == {(family.name, split)}


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, list[str]]:
    """Content hashes of every family, from another process with another hash seed."""
    code = (
        "import json; from tests.tasks.families import FAMILIES\n"
        f"print(json.dumps({{name: [t.content_hash for s in {SPLITS} for t in make().tasks(s, 3, 40)]"
        " for name, make in FAMILIES.items()}))"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    return json.loads(done.stdout)


def test_the_same_in_every_process(
    family: TaskFamily, elsewhere: dict[str, list[str]], request: pytest.FixtureRequest
) -> None:
    assert elsewhere[request.node.callspec.params["family"]] == [task.content_hash for task in _all(family)]


def test_gold_is_fully_right(family: TaskFamily) -> None:
    for task in _all(family):
        score = family.score(task, family.gold(task))
        assert (score.reward, score.success, score.unscored, score.reason) == (1.0, True, False, "")
        assert all(signal == 1.0 for signal in score.signals.values())


def _answers(text: str) -> Trajectory:
    return Trajectory((Turn("synthesizer", "", Completion(text)),), text)


def test_empty_and_junk_earn_nothing(family: TaskFamily) -> None:
    for task in _all(family):
        for junk in ("", " \n", "blah blah", task.prompt, " ".join(map(str, range(200)))):
            score = family.score(task, _answers(junk))
            assert (score.reward, score.success) == (0.0, False)
            assert score.reason
        assert family.score(task, Trajectory((), "")).reward == 0.0


modules = st.sampled_from(["planner", "selector", "caller", "synthesizer", "policy", "else"])
texts = st.text(max_size=60)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_episode_breaks_the_scorer(family: TaskFamily, data: st.DataObject) -> None:
    task = data.draw(st.sampled_from(_TASKS.setdefault(id(family), _all(family, 10))))
    names = st.sampled_from([*(tool.name for tool in task.tools), "nope"])
    calls = st.builds(ToolCall, names, st.dictionaries(texts, values, max_size=3), texts)
    results = st.none() | st.builds(ToolResult, st.booleans(), texts)
    turn = st.builds(Turn, modules, texts, st.builds(Completion, texts), st.none() | calls, results)
    gold = family.gold(task)
    turns = data.draw(st.lists(turn | st.sampled_from(gold.turns), max_size=9))
    answer = data.draw(texts | st.just(gold.answer))
    plan = data.draw(st.lists(texts, max_size=4).map(tuple) | st.just(gold.plan))
    score = family.score(task, Trajectory(tuple(turns), answer, plan))
    assert 0.0 <= score.reward <= 1.0
    assert (score.reward == 1.0) == score.success
    assert all(0.0 <= signal <= 1.0 for signal in score.signals.values())
    assert set(score.signals) <= {turn.module for turn in turns}


_TASKS: dict[int, list[Task]] = {}


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_environment_never_raises(family: TaskFamily, data: st.DataObject) -> None:
    task = data.draw(st.sampled_from(_TASKS.setdefault(id(family), _all(family, 10))))
    tool = data.draw(st.sampled_from(task.tools)) if task.tools else None
    properties = list(tool.parameters["properties"]) if tool else []
    keys = st.sampled_from(properties) | texts if properties else texts
    name = data.draw(st.just(tool.name) | texts if tool else texts)
    result = family.env(task).call(name, data.draw(st.dictionaries(keys, values, max_size=4)))
    assert isinstance(result.ok, bool)
    assert isinstance(result.output, str)


def test_scoring_depends_on_the_task_and_trajectory_alone(family: TaskFamily) -> None:
    tasks = _all(family, 5)
    trajectories = [family.gold(task) for task in tasks]
    forwards = [family.score(task, other) for task in tasks for other in trajectories]
    backwards = [family.score(task, other) for task in reversed(tasks) for other in reversed(trajectories)]
    assert forwards == list(reversed(backwards))


def test_validates_itself(family: TaskFamily) -> None:
    assert family.validate() == []


def test_survives_a_pickle(family: TaskFamily) -> None:
    again = pickle.loads(pickle.dumps(family))
    assert list(again.tasks("heldout", 2, 10)) == list(family.tasks("heldout", 2, 10))


def test_tasks_survive_a_pickle_and_keep_their_hash(family: TaskFamily) -> None:
    for task in _all(family, 5):
        assert pickle.loads(pickle.dumps(task)).content_hash == task.content_hash
        assert dataclasses.replace(task, id="other").content_hash == task.content_hash


def test_too_many_tasks_are_refused_with_the_number_there_is(
    family: TaskFamily, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["family"] in ENDLESS:
        pytest.skip("generated without end; toolbox in practice, see test_toolbox_family.py")
    with pytest.raises(ConfigError, match=r"heldout.*10000 were asked for"):
        family.tasks("heldout", 0, 10_000)
