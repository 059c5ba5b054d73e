"""Rollout: lockstep batching, scoring, and the line between a model's failure and the harness's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from esagent.agents.modular import ModularAgent
from esagent.core.episode import UNPERTURBED, Completion, Episode, Request, Score, Task, Trajectory
from esagent.core.population import Perturbation
from esagent.errors import ConfigError, Interrupted, RunError
from esagent.rollout import MAX_REQUESTS, Sampling, UnscoredError, reward_matrix, rollout
from esagent.stopping import Told
from tests.agents.scripted import Arithmetic, ScriptedBackend, Sums, solve

AGENT = ModularAgent()
MEMBERS = tuple(Perturbation(seed, sign, {"caller": 1.0}) for seed in (1, 2) for sign in (1, -1))
TASKS = Sums().tasks("train", 0, 3)


def test_one_generate_call_per_round_for_all_members_and_tasks() -> None:
    backend = ScriptedBackend(solve)
    rounds: list[tuple[int, int]] = []
    episodes = rollout(AGENT, Sums(), backend, MEMBERS, TASKS, on_round=lambda *progress: rounds.append(progress))
    assert [(e.member, e.task) for e in episodes] == [(m, task) for m in range(4) for task in TASKS]
    assert all(e.score.success and e.score.reward == 1 for e in episodes)
    assert [len(batch) for batch in backend.batches] == [12] * 4
    assert [{r.module for r in batch} for batch in backend.batches] == [{m} for m in AGENT.modules]
    assert [r.member for r in backend.batches[0]] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert rounds == [(0, 12), (0, 12), (0, 12), (12, 12)]


def test_finished_episodes_leave_the_batch() -> None:
    def answer(request: Request) -> str:
        twice = request.module == "planner" and "Add 1 " in request.prompt
        return " Add 1 and 2; Add 1 and 2" if twice else solve(request)

    backend = ScriptedBackend(answer)
    episodes = rollout(AGENT, Sums(), backend, (), TASKS)
    assert [len(batch) for batch in backend.batches] == [3, 3, 3, 3, 1, 1]
    assert [len(e.trajectory.turns) for e in episodes] == [4, 6, 4]


def test_without_members_the_centre_runs() -> None:
    backend = ScriptedBackend(solve)
    episodes = rollout(AGENT, Sums(), backend, (), TASKS)
    assert {r.member for batch in backend.batches for r in batch} == {UNPERTURBED}
    assert [e.member for e in episodes] == [UNPERTURBED] * 3
    rewards, dropped = reward_matrix(episodes, (), TASKS)
    assert rewards.tolist() == [[1.0, 1.0, 1.0]]
    assert dropped == []


def test_member_ids_name_a_slice_of_a_population() -> None:
    backend = ScriptedBackend(solve)
    episodes = rollout(AGENT, Sums(), backend, MEMBERS[:2], TASKS[:1], member_ids=[6, 7])
    assert [e.member for e in episodes] == [6, 7]
    assert [r.member for r in backend.batches[0]] == [0, 1]


def test_rewards_lie_where_member_and_task_say() -> None:
    def answer(request: Request) -> str:
        wrong = request.module == "synthesizer" and request.member == 2 and "Add 1 " in request.prompt
        return " 99" if wrong else solve(request)

    episodes = rollout(AGENT, Sums(), ScriptedBackend(answer), MEMBERS, TASKS)
    expected = np.ones((4, 3))
    expected[2, 1] = 0
    assert np.array_equal(reward_matrix(episodes, MEMBERS, TASKS)[0], expected)


def test_nonfinite_logits_are_the_models_failure() -> None:
    def answer(request: Request) -> str | Completion:
        bad = request.module == "caller" and request.member == 1
        return Completion("", "nonfinite") if bad else solve(request)

    episodes = rollout(AGENT, Sums(), ScriptedBackend(answer), MEMBERS, TASKS[:1])
    assert episodes[1].score == Score(0.0, {"caller": 0.0}, reason="nonfinite")
    assert [e.score.reward for e in episodes] == [1, 0, 1, 1]


class RaisingScorer(Sums):
    """Its scorer dies on one task."""

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        if task.id == "train-1" and trajectory.answer == "3":
            raise ZeroDivisionError("judge is\ndown")
        return super().score(task, trajectory)


def test_a_scorer_that_raises_drops_its_task_for_all_members() -> None:
    def answer(request: Request) -> str:
        return " 0" if request.module == "synthesizer" and request.member != 1 else solve(request)

    tasks = Sums().tasks("train", 0, 3)
    episodes = rollout(AGENT, RaisingScorer(), ScriptedBackend(answer), MEMBERS, tasks)
    broken = [e for e in episodes if e.score.unscored]
    assert [(e.member, e.task.id) for e in broken] == [(1, "train-1")]
    assert broken[0].score.reason == "scoring: ZeroDivisionError: judge is down"
    rewards, dropped = reward_matrix(episodes, MEMBERS, tasks)
    assert dropped == ["train-1"]
    assert rewards.tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize(("unscored", "of"), [(1, 10), (2, 20)])
def test_a_tenth_unscored_is_still_accepted(unscored: int, of: int) -> None:
    tasks = Sums().tasks("train", 0, of)
    trajectory = Trajectory((), "")
    episodes = [Episode(t, -1, trajectory, Score(0.5, unscored=i < unscored)) for i, t in enumerate(tasks)]
    assert reward_matrix(episodes, (), tasks)[0].shape == (1, of - unscored)


def test_more_than_a_tenth_unscored_is_an_error() -> None:
    tasks = Sums().tasks("train", 0, 9)
    score = [Score(0.0, reason="no browser", unscored=True)] + [Score(1.0)] * 8
    episodes = [Episode(t, -1, Trajectory((), ""), s) for t, s in zip(tasks, score, strict=True)]
    with pytest.raises(UnscoredError, match=r"11% of the episodes .*no browser") as error:
        reward_matrix(episodes, (), tasks)
    assert error.value.exit_code == 1
    assert error.value.share == pytest.approx(1 / 9)


def _scored(score: Any) -> Score:
    class Odd(Sums):
        def score(self, task: Task, trajectory: Trajectory) -> Score:
            return score

    (episode,) = rollout(AGENT, Odd(), ScriptedBackend(solve), (), TASKS[:1])
    return episode.score


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (Score(float("nan")), "the reward is nan"),
        (Score(float("inf")), "the reward is inf"),
        (Score("high"), "could not convert string to float: 'high'"),
        (Score(None), "NoneType"),
        (Score(10**400), "too large"),
        (Score(0.5, {"planner": float("nan")}), "the signal of planner is nan"),
        (Score(0.5, {"planner": None}), "NoneType"),
        (None, "it gave NoneType, not a Score"),
        (0.5, "it gave float, not a Score"),
    ],
)
def test_a_score_that_is_none_or_not_finite_is_the_scorers_failure(score: Any, reason: str) -> None:
    found = _scored(score)
    assert (found.unscored, found.reward, found.signals) == (True, 0.0, {})
    assert found.reason.startswith("scoring: ")
    assert reason in found.reason


def test_scores_become_plain_numbers() -> None:
    given = Score(np.float32(0.25), {"planner": np.float64(1)}, success=np.bool_(True))
    found = _scored(given)
    assert found == Score(0.25, {"planner": 1.0}, success=True)
    assert [type(v) for v in (found.reward, found.signals["planner"], found.success)] == [float, float, bool]
    assert _scored(Score(float("nan"), reason="no browser", unscored=True)) == Score(
        0, reason="no browser", unscored=True
    )


@dataclass
class OneQuestion:
    """An agent with one request; `then` decides what becomes of the episode."""

    then: Any
    modules: tuple[str, ...] = ("policy",)

    def run(self, task: Task, env: Arithmetic) -> Any:
        completion = yield Request("policy", task.prompt)
        yield from self.then(completion)
        return Trajectory((), completion.text)


def _raises(completion: Completion) -> Any:
    raise KeyError("oops")
    yield


def _exits(completion: Completion) -> Any:
    sys.exit("done")
    yield


def _yields_text(completion: Completion) -> Any:
    yield "hello"


def _asks_nothing(completion: Completion) -> Any:
    yield Request("policy", None)


def _asks_nobody(completion: Completion) -> Any:
    yield Request("polcy", "x")


def _asks_for_less_than_nothing(completion: Completion) -> Any:
    yield Request("policy", "x", max_new_tokens=-1)


def _asks_at_no_temperature(completion: Completion) -> Any:
    yield Request("policy", "x", temperature=float("nan"))


def _never_ends(completion: Completion) -> Any:
    while True:
        yield Request("policy", "again")


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (_raises, "the agent: KeyError: 'oops'"),
        (_exits, "the agent: SystemExit: done"),
        (_yields_text, "the agent yielded str, not a Request"),
        (_asks_nothing, "the agent yielded a Request whose prompt or prefix is not a text"),
        (_asks_nobody, "the agent asked module 'polcy', which is not one of its modules"),
        (_asks_for_less_than_nothing, "the agent yielded a Request with max_new_tokens=-1"),
        (_asks_at_no_temperature, "the agent yielded a Request with temperature=nan"),
        (_never_ends, f"the agent asked more than {MAX_REQUESTS} times"),
    ],
)
def test_an_agent_that_fails_is_unscored_and_stops_no_other(then: Any, reason: str) -> None:
    def sometimes(completion: Completion) -> Any:
        return then(completion) if completion.text == "bad" else iter(())

    backend = ScriptedBackend(lambda request: "bad" if "Add 1 " in request.prompt else "2")
    episodes = rollout(OneQuestion(sometimes), Sums(), backend, (), TASKS)
    assert [e.score.unscored for e in episodes] == [False, True, False]
    assert episodes[1].score.reason == reason
    assert episodes[0].score.success


@dataclass
class Returns:
    result: Any
    modules: tuple[str, ...] = ("policy",)

    def run(self, task: Task, env: Arithmetic) -> Any:
        yield Request("policy", "")
        return self.result


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("done", "the agent returned str, not a Trajectory"),
        (Trajectory((), None), "the agent returned an answer that is a NoneType, not a text"),
        (Trajectory((1,), ""), "the agent returned turns that are not all of type Turn"),
    ],
)
def test_an_agent_must_return_a_trajectory(result: Any, reason: str) -> None:
    (episode,) = rollout(Returns(result), Sums(), ScriptedBackend(lambda r: ""), (), TASKS[:1])
    assert (episode.score.reason, episode.score.unscored) == (reason, True)


def test_an_environment_that_cannot_start_is_unscored() -> None:
    class Closed(Sums):
        def env(self, task: Task) -> Arithmetic:
            raise OSError("no display")

    backend = ScriptedBackend(solve)
    (episode,) = rollout(AGENT, Closed(), backend, (), TASKS[:1])
    assert episode.score.reason == "starting the episode: OSError: no display"
    assert backend.batches == []


def test_members_that_are_made_one_after_the_other_are_run_one_after_the_other() -> None:
    """Each to its end, in order; episodes and their order are those of all at once."""
    members = [Perturbation(i, 1, {"a": 1.0}) for i in range(5)]
    at_once, rounds = ScriptedBackend(solve), []
    expected = rollout(AGENT, Sums(), at_once, members, TASKS)
    for together, groups in ((1, [[0], [1], [2], [3], [4]]), (2, [[0, 1], [2, 3], [4]]), (9, [[0, 1, 2, 3, 4]])):
        backend = ScriptedBackend(solve, together)
        rounds.clear()
        found = rollout(AGENT, Sums(), backend, members, TASKS, on_round=lambda done, total: rounds.append(done))
        assert found == expected
        asked = [sorted({request.member for request in batch}) for batch in backend.batches]
        assert asked == [group for group in groups for _ in range(len(at_once.batches))]
        assert rounds == sorted(rounds)
        assert rounds[-1] == len(members) * len(TASKS)
    assert rollout(AGENT, Sums(), ScriptedBackend(solve, 1), (), TASKS) == rollout(AGENT, Sums(), at_once, (), TASKS)


def test_typed_errors_and_interrupts_are_not_swallowed() -> None:
    def stop(request: Request) -> str:
        raise Interrupted("ctrl-c")

    with pytest.raises(Interrupted):
        rollout(AGENT, Sums(), ScriptedBackend(stop), (), TASKS)

    class Leaves(Sums):
        def score(self, task: Task, trajectory: Trajectory) -> Score:
            raise Told(75)

    with pytest.raises(Told):
        rollout(AGENT, Leaves(), ScriptedBackend(solve), (), TASKS)


def test_wrong_number_of_answers_is_an_error() -> None:
    class Short(ScriptedBackend):
        def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
            return super().generate(requests, members)[:-1]

    with pytest.raises(RunError, match="answered 2 of 3"):
        rollout(AGENT, Sums(), Short(solve), (), TASKS)


def test_task_ids_are_unique() -> None:
    with pytest.raises(ConfigError, match="two tasks have the id 'train-0'"):
        rollout(AGENT, Sums(), ScriptedBackend(solve), (), [TASKS[0], TASKS[0]])


def test_sampling_repeats_every_task_with_keys_of_its_own() -> None:
    backend = ScriptedBackend(solve)
    sampling = Sampling(samples=3, temperature=0.5, seed=7)
    episodes = rollout(AGENT, Sums(), backend, (), TASKS, sampling=sampling)
    assert [(e.task, e.sample) for e in episodes] == [(task, sample) for task in TASKS for sample in range(3)]
    asked = [request for batch in backend.batches for request in batch]
    assert {request.temperature for request in asked} == {0.5}
    assert len({request.seed for request in asked}) == len(asked) == 3 * 3 * 4
    greedy = rollout(AGENT, Sums(), backend, (), TASKS)
    assert {e.sample for e in greedy} == {None}
    assert {request.temperature for request in backend.batches[-1]} == {0.0}


def test_the_key_of_a_sampled_request_depends_on_nothing_around_it() -> None:
    def seeds(tasks: Sequence[Task], samples: int, seed: int = 7) -> dict[tuple[str, int], list[int]]:
        backend = ScriptedBackend(solve)
        episodes = rollout(AGENT, Sums(), backend, (), tasks, sampling=Sampling(samples, 0.5, seed))
        names = [(e.task.id, e.sample) for e in episodes]
        return {name: [batch[i].seed for batch in backend.batches] for i, name in enumerate(names)}

    few, many = seeds(TASKS[1:2], 1), seeds(TASKS, 4)
    assert few == {name: many[name] for name in few}
    assert seeds(TASKS, 4, seed=8)[TASKS[1].id, 0] != many[TASKS[1].id, 0]


def test_an_episode_that_outgrows_the_context_is_the_models_failure(caplog: pytest.LogCaptureFixture) -> None:
    def answer(request: Request) -> str | Completion:
        long = request.module == "caller" and request.member in (UNPERTURBED, 1)
        return Completion("", "context", note="a prompt of 99 tokens") if long else solve(request)

    episodes = rollout(AGENT, Sums(), ScriptedBackend(answer), MEMBERS, TASKS[:1])
    assert episodes[1].score == Score(0.0, {"caller": 0.0}, reason="module caller: a prompt of 99 tokens")
    assert [e.score.reward for e in episodes] == [1, 0, 1, 1]
    assert not caplog.records  # the journal has it; a line for every step would be noise
    rollout(AGENT, Sums(), ScriptedBackend(answer), (), TASKS)
    assert "3 of 3 episodes of the unperturbed agent outgrew the model's context and earn 0" in caplog.text
    assert "module caller: a prompt of 99 tokens" in caplog.text


def test_a_task_too_long_for_the_model_from_the_start_says_nothing_about_a_member() -> None:
    def answer(request: Request) -> str | Completion:
        long = request.module == "planner" and "Add 1 " in request.prompt
        return Completion("", "context", note="a prompt of 99 tokens") if long else solve(request)

    backend = ScriptedBackend(answer)
    episodes = rollout(AGENT, Sums(), backend, MEMBERS, TASKS)
    unscored = Score(0.0, reason="module planner: a prompt of 99 tokens", unscored=True)
    assert [e.score for e in episodes if e.task.id == "train-1"] == [unscored] * 4
    assert [len(batch) for batch in backend.batches] == [12, 8, 8, 8]
