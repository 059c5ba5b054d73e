import inspect
from pathlib import Path

import pytest

from esagent.config import names
from esagent.config.schema import TaskConfig
from esagent.errors import ConfigError
from esagent.tasks.registry import FAMILIES, make_family
from tests.tasks.qa.rows import hotpot, write

OWN = """
from esagent.core.episode import Score, Task, Trajectory
from esagent.tools.registry import ToolEnvironment

class Echo:
    name = "echo"

    def __init__(self, word="hi"):
        self.word = word

    def tasks(self, split, seed, n):
        return [Task(f"{split}-{i}", self.name, split, f"Say {self.word} {i}", (), {}) for i in range(n)]

    def env(self, task):
        return ToolEnvironment({})

    def score(self, task, trajectory):
        return Score(float(trajectory.answer == self.word))

    def gold(self, task):
        return Trajectory((), self.word)

    def validate(self):
        return []

class Half:
    name = "half"

    def tasks(self, split, seed, n):
        return []
"""


def test_toolbox_by_name() -> None:
    family = make_family(TaskConfig(level="medium"))
    assert family.name == "toolbox"
    assert len({call["name"] for t in family.tasks("train", 0, 200) for call in t.payload["calls"]}) == 8


def test_options_reach_a_family_that_ships() -> None:
    weights = {"plan": 0.0, "tools": 0.0, "arguments": 0.0, "answer": 1.0}
    assert make_family(TaskConfig(options={"weights": weights})).weights.answer == 1.0  # type: ignore[attr-defined]


def test_jsonl_by_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"q": "1 + 1", "answer": "2", "split": "train"}\n')
    family = make_family(TaskConfig(name="jsonl", path=str(path), scorer="number", options={"question": "q"}))
    assert family.tasks("train", 0, 1)[0].prompt == "1 + 1"


def test_qa_by_name_and_from_a_file(tmp_path: Path) -> None:
    assert make_family(TaskConfig(name="qa", level="hard", options={"sections": False})).tasks("train", 0, 1)
    path = write(tmp_path / "rows.jsonl", [{**hotpot(1), "split": "train"}])
    family = make_family(TaskConfig(name="qa", path=str(path), scorer="em"))
    assert family.tasks("train", 0, 1)[0].prompt == hotpot(1)["question"]


def test_a_family_of_your_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_families.py").write_text(OWN)
    family = make_family(TaskConfig(target="own_families:Echo", options={"word": "ho"}))
    assert family.tasks("train", 0, 1)[0].prompt == "Say ho 0"
    with pytest.raises(ConfigError, match="own_families:Half has no method env, score, gold, validate"):
        make_family(TaskConfig(target="own_families:Half"))
    with pytest.raises(ConfigError, match="unexpected keyword argument"):
        make_family(TaskConfig(target="own_families:Echo", options={"size": 1}))


@pytest.mark.parametrize(
    ("config", "part"),
    [
        (TaskConfig(name="tolbox"), "no family 'tolbox'; did you mean 'toolbox'"),
        (TaskConfig(level="esy"), "no level 'esy'"),
        (TaskConfig(name="jsonl"), "needs a file"),
        (TaskConfig(options={"size": 1}), "toolbox takes weights, not size"),
        (TaskConfig(target="no_such_module:Family"), "cannot import 'no_such_module'"),
        (TaskConfig(target="json:Family"), "json has no class 'Family'"),
        (TaskConfig(target="json"), "not of the form my_module:MyClass"),
    ],
)
def test_mistakes_are_one_clear_line(config: TaskConfig, part: str) -> None:
    with pytest.raises(ConfigError, match=part) as caught:
        make_family(config)
    assert "\n" not in str(caught.value)


def test_the_names_and_options_that_the_configuration_check_knows() -> None:
    assert set(names.TASKS) == set(FAMILIES) == set(names.TASK_OPTIONS)
    settings = {"level", "path", "scorer", "modules", "graded"}
    for name, make in FAMILIES.items():
        assert set(names.TASK_OPTIONS[name]) == set(inspect.signature(make).parameters) - settings
