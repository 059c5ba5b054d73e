import pytest

from esagent.config.change import changed
from esagent.config.export import from_dict, to_dict
from esagent.config.schema import Config
from esagent.errors import ConfigError

SETTINGS = to_dict(Config())


def test_single_settings_are_put_in_and_nothing_else_moves() -> None:
    made = changed(SETTINGS, ["budget.steps=3", "sigma.modules.caller=0.5", "task.options={a: 1}", "name=x"])
    config = from_dict(made)
    assert (config.budget.steps, config.sigma.modules, config.task.options, config.name) == (
        3,
        {"caller": 0.5},
        {"a": 1},
        "x",
    )
    assert to_dict(Config()) == SETTINGS
    made["budget"]["steps"] = SETTINGS["budget"]["steps"]
    assert made["budget"] == SETTINGS["budget"]


def test_no_overrides_no_change() -> None:
    assert changed(SETTINGS, []) == SETTINGS


def test_every_mistake_is_told() -> None:
    with pytest.raises(ConfigError) as caught:
        changed(SETTINGS, ["budget=quick", "budget.stepz=1", "+seed=3", "seed=1,2", "hydra.verbose=1", "seed=x", "]"])
    assert len(caught.value.problems) == 7
    assert all("\n" not in problem for problem in caught.value.problems)
