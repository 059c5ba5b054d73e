import statistics

import pytest

from esagent.agents.modular import ModularAgent
from esagent.agents.toolcalls import parse_call
from esagent.core.episode import Completion, Task, Trajectory
from esagent.errors import ConfigError
from esagent.tasks.toolbox import ToolboxFamily
from esagent.tasks.toolbox.build import resolve
from esagent.tasks.toolbox.draw import owned, split_of
from esagent.tasks.toolbox.family import SPLITS
from esagent.tasks.toolbox.templates import LEVELS


@pytest.mark.parametrize(("level", "hops"), [("easy", {1, 2}), ("medium", {1, 2}), ("hard", {1, 2, 3})])
def test_levels(level: str, hops: set[int]) -> None:
    tasks = ToolboxFamily(level).tasks("train", 0, 400)
    assert {len(task.payload["calls"]) for task in tasks} == hops
    used = {call["name"] for task in tasks for call in task.payload["calls"]}
    assert used <= {tool.name for tool in tasks[0].tools}
    assert len(used) >= 6
    one_hop = statistics.mean(len(task.payload["calls"]) == 1 for task in tasks)
    assert one_hop == pytest.approx(LEVELS[level].hops[0], abs=0.08)


def test_easy_questions_are_short() -> None:
    lengths = [len(t.prompt.split()) for s in SPLITS for t in ToolboxFamily("easy").tasks(s, 0, 300)]
    assert max(lengths) <= 30
    assert 6 <= statistics.mean(lengths) <= 16


def test_every_argument_of_a_first_hop_stands_in_the_question() -> None:
    """Nothing has to be guessed: what the caller must write can be read off."""
    for task in ToolboxFamily("hard").tasks("heldout", 0, 300):
        for call in task.payload["calls"]:
            values = [v for v in call["arguments"].values() if not isinstance(v, list)]
            values += [item for v in call["arguments"].values() if isinstance(v, list) for item in v]
            for value in values:
                words = str(value).replace("(", " ").replace(")", " ").split()
                for word in words:
                    fixed = word.startswith("$") or word in ("+", "-", "*", "/", "%")
                    operation = call["arguments"].get("operation") == value
                    assert fixed or operation or word in task.prompt


def test_gold_calls_refer_to_earlier_results_only() -> None:
    for task in ToolboxFamily("hard").tasks("train", 0, 200):
        results = [call["result"] for call in task.payload["calls"]]
        for at, call in enumerate(task.payload["calls"]):
            assert resolve(call["arguments"], results[:at]) == call["resolved"]
            assert (at > 0) == ("$" in str(call["arguments"]))
        assert task.payload["answer"] == results[-1]


def test_numbers_are_dealt_out_five_two_three() -> None:
    for tens in range(0, 300, 10):
        sizes = [len(owned(split, tens, tens + 9)) for split in SPLITS]
        assert sizes == [5, 2, 3]
    assert {split_of(n) for n in range(10)} == set(SPLITS)


def test_a_used_up_split_says_how_many_tasks_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    family = ToolboxFamily("easy")
    only = family.tasks("train", 0, 3)
    monkeypatch.setattr(family, "_stream", lambda split, seed: (only[i % 3] for i in range(10_000)))
    with pytest.raises(ConfigError, match="has 3 train tasks, 4 were asked for"):
        family.tasks("train", 0, 4)


def test_the_default_pools_exist_many_times_over() -> None:
    for split in SPLITS:
        assert len(ToolboxFamily("easy").tasks(split, 0, 1500)) == 1500


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"level": "medum"}, "no level 'medum'; there are easy, medium, hard"),
        ({"weights": {"anwser": 1.0}}, "no part 'anwser'; parts are plan, tools, arguments, answer"),
        ({"weights": {"answer": 0.9}}, "sum to 1"),
        ({"weights": {"plan": 0.5, "answer": 0.0}}, "give the answer a share"),
        ({"weights": {"plan": "much"}}, "must be numbers"),
    ],
)
def test_bad_settings_are_named(arguments: dict, part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        ToolboxFamily(**arguments)


def _play(task: Task, family: ToolboxFamily) -> Trajectory:
    """The modular agent with a model that writes the gold texts."""
    gold = family.gold(task)
    texts = iter(turn.completion.text for turn in gold.turns)
    run = ModularAgent().run(task, family.env(task))
    request = next(run)
    try:
        while True:
            text = next(texts)
            assert request.module in ("planner", "selector", "caller", "synthesizer")
            request = run.send(Completion(text))
    except StopIteration as done:
        return done.value


@pytest.mark.parametrize("level", LEVELS)
def test_the_modular_agent_can_earn_the_full_reward_in_text(level: str) -> None:
    family = ToolboxFamily(level)
    for split in SPLITS:
        for task in family.tasks(split, 1, 60):
            score = family.score(task, _play(task, family))
            assert score.success, task.prompt


def test_gold_caller_texts_parse_to_the_gold_calls() -> None:
    family = ToolboxFamily("hard")
    for task in family.tasks("train", 2, 100):
        tools = family.env(task).tools
        for turn in family.gold(task).turns:
            if turn.call is not None:
                call = parse_call(turn.completion, task.tools)
                meaning = tools[call.name].meanings(call.arguments)
                assert meaning == tools[turn.call.name].meanings(turn.call.arguments)
