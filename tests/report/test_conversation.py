"""Episodes found and shown as conversations."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from esagent.agents.modular import ModularAgent
from esagent.core.episode import Request
from esagent.errors import ConfigError
from esagent.report.conversation import first_mistake, render
from esagent.report.episodes import Wanted, find_episode, find_file
from esagent.rollout import rollout
from esagent.runs.directory import RunDirectory
from esagent.runs.episodes import encode_episode, evaluation_file, read_episodes
from esagent.runs.evals import evals_folder, list_evals
from esagent.tasks.toolbox import ToolboxFamily
from tests.agents.scripted import ScriptedBackend


def text(episode: dict[str, Any], state: str = "") -> str:
    stream = io.StringIO()
    Console(file=stream, width=100).print(render(episode, state))
    return stream.getvalue()


@pytest.fixture(scope="module")
def episode() -> dict[str, Any]:
    """A toolbox episode whose caller writes nonsense: the planner and selector are right."""
    family = ToolboxFamily()
    (task,) = family.tasks("train", 0, 1)
    gold = family.gold(task).turns

    def answer(request: Request) -> str:
        said = {"caller": " calculator(", "synthesizer": " no idea"}
        return said.get(request.module) or next(t.completion.text for t in gold if t.module == request.module)

    (found,) = rollout(ModularAgent(), family, ScriptedBackend(answer), (), [task])
    return encode_episode(found)


def test_it_says_whose_conversation_it_is(episode: dict[str, Any]) -> None:
    for state, member, says in (
        ("trained, after step 4", -1, "unperturbed agent, trained, after step 4"),
        ("base", 3, "member 3 of the population around the agent, base"),
        ("", -1, "unperturbed agent"),
    ):
        by = next(line for line in text({**episode, "member": member}, state).splitlines() if line.startswith("by "))
        assert by.removeprefix("by").strip() == says


def test_a_conversation_tells_who_said_what_and_what_came_of_it(episode: dict[str, Any]) -> None:
    out = text(episode)
    where = [out.index(part) for part in ("1  planner", "2  selector", "3  caller", "synthesizer", "outcome")]
    assert where == sorted(where)
    for turn in episode["turns"]:
        assert f"> {turn['completion']['text'].strip()}" in out
    assert f"error: {episode['turns'][2]['result']['output']}" in " ".join(out.split())
    assert f"right answer: {episode['task']['payload']['answer']}" in out
    assert "caller (first mistake)" in out
    assert "not solved" in out
    assert re.search(rf"right call: {episode['task']['payload']['calls'][0]['name']}\(.*\) gives ", out)
    assert all(len(line) <= 100 for line in out.splitlines())


def test_only_failed_episodes_have_a_first_mistake() -> None:
    score = {"signals": {"planner": 1.0, "caller": 0.5, "selector": 0.0}}
    assert first_mistake(score, ["planner", "selector", "caller"]) == "selector"
    assert first_mistake(score, ["planner", "caller", "selector"]) == "caller"
    assert first_mistake({"signals": {"planner": 1.0}}, ["planner", "caller"]) is None


def test_markup_and_control_in_model_text_stay_text(episode: dict[str, Any]) -> None:
    odd = {**episode, "answer": "[bold]x[/bold] [/nope]"}
    assert "[bold]x[/bold] [/nope]" in text(odd)


def test_unscored_and_cut_and_empty_turns_are_said(episode: dict[str, Any]) -> None:
    turn = {**episode["turns"][0], "completion": {"text": " ", "stop_reason": "length"}}
    score = {"reward": 0.0, "signals": {}, "reason": "the checker died", "success": False, "unscored": True}
    out = text({**episode, "turns": [turn], "score": score, "member": 3, "sample": 2})
    for part in (
        "(nothing)",
        "cut at its length",
        "not scored (the checker died)",
        "member 3 of the population, sample 2",
    ):
        assert part in out


def test_by_default_it_is_the_last_state_on_heldout_tasks(run: Path) -> None:
    directory = RunDirectory(run)
    heldout = sorted((run / "episodes").glob("eval-*-heldout.*"))
    assert find_file(directory, Wanted()) == heldout[-1]
    assert find_file(directory, Wanted(step=0)) == evaluation_file(directory.episodes, 0, "heldout")
    assert find_file(directory, Wanted(step=4)) == evaluation_file(directory.episodes, 4, "validation")
    assert find_file(directory, Wanted(split="pool")) == evaluation_file(directory.episodes, 8, "pool")


def test_members_and_evaluations_have_files_of_their_own(run: Path) -> None:
    directory = RunDirectory(run)
    path = find_file(directory, Wanted(member=5))
    assert path.name == "step-000007.jsonl.zst"
    number, found = find_episode(path, "2", Wanted(member=5))
    assert (number, found["member"]) == (2, 5)
    assert found["task"]["id"] == [e["task"]["id"] for e in read_episodes(path) if e["member"] == 5][2]
    (folder,) = list_evals(evals_folder(run))
    assert find_file(directory, Wanted(eval="latest")) == folder / "trained-greedy.jsonl.zst"
    wanted = Wanted(eval=folder.name, agent="base", sample=1)
    path = find_file(directory, wanted)
    assert path == folder / "base-sampled.jsonl.zst"
    assert find_episode(path, "heldout-7", wanted)[1]["sample"] == 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted(step=3), "evaluations on heldout: step 3 is not there; choose from 0, "),
        (Wanted(split="heldot"), "split=heldot: no episodes of it; did you mean heldout?"),
        (Wanted(member=0, step=40), "step 40 is not there; choose from 0, 1, 2"),
        (Wanted(eval="x"), "evaluation 'x': choose from 2"),
        (Wanted(eval="latest", agent="trian"), "has no trian-greedy.jsonl.zst; it has base-greedy.jsonl.zst, "),
    ],
)
def test_what_is_not_there_names_what_is(run: Path, wanted: Wanted, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_file(RunDirectory(run), wanted)
    assert message in str(caught.value)


def test_an_episode_that_is_not_there_names_what_is(run: Path) -> None:
    path = find_file(RunDirectory(run), Wanted())
    for which, message in (("48", "holds 48, numbered 0 to 47"), ("heldut-3", "a number from 0 to 47 or a task id")):
        with pytest.raises(ConfigError, match=message):
            find_episode(path, which, Wanted())
    with pytest.raises(ConfigError, match="holds no episode of member 99"):
        find_episode(find_file(RunDirectory(run), Wanted(member=99)), "0", Wanted(member=99))


def test_a_run_without_episodes_says_so(tmp_path: Path) -> None:
    for wanted, message in (
        (Wanted(), "an evaluation"),
        (Wanted(member=0), "a population"),
        (Wanted(eval="x"), "make"),
    ):
        with pytest.raises(ConfigError, match=message):
            find_file(RunDirectory(tmp_path), wanted)
