"""What backend=ray is made of and needs no Ray: messages, shares, units, ways to a state, and its settings."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esagent.backends.ray.balance import Expectation, Unit, deal, known_speeds, learned_speed
from esagent.backends.ray.history import History
from esagent.backends.ray.traffic import LIMIT, Traffic
from esagent.backends.ray.units import make_units, parameters_of, twins
from esagent.backends.ray.wire import (
    Parcel,
    Receiver,
    Sender,
    pack,
    pack_completions,
    pack_scores,
    unpack_completions,
    unpack_scores,
)
from esagent.backends.registry import make_backend
from esagent.config.compose import compose
from esagent.core.episode import UNPERTURBED, Completion, Cost, Message, Request, ToolSpec
from esagent.core.noise import direction_seed
from esagent.core.population import Perturbation, Update, UpdateTerm
from esagent.errors import ConfigError, EnvironmentFailure

MEMBERS = [Perturbation(direction_seed(1, 0, i // 2), 1 - 2 * (i % 2), {"a": 0.5, "b": 0.25}, 9) for i in range(6)]

requests = st.builds(
    Request,
    module=st.sampled_from(["a", "b"]),
    prompt=st.text(max_size=8),
    prefix=st.sampled_from(["", "few shots\n"]),
    member=st.integers(UNPERTURBED, len(MEMBERS) - 1),
    max_new_tokens=st.sampled_from([1, 32]),
    stop=st.sampled_from([(), ("\n",), ("\n", "##")]),
    choices=st.sampled_from([(), ("yes", "no")]),
    messages=st.sampled_from([(), (Message("user", "hello"),)]),
    tools=st.sampled_from([(), (ToolSpec("f", "does f", {"type": "object"}),)]),
    temperature=st.sampled_from([0.0, 0.7]),
    seed=st.sampled_from([0, 1, 2**64 - 1]),
)
texts = st.text(max_size=8)


@given(st.lists(st.lists(requests, max_size=6), max_size=4), st.booleans())
def test_a_worker_reads_what_it_was_asked(asked: list[list[Request]], moved: bool) -> None:
    """Over many messages, in which each thing is told once, and across a change of the state."""
    sender, receiver = Sender(), Receiver()
    for number, batch in enumerate(asked):
        if moved and number == 2:
            sender.forget_members()
            receiver.forget_members()
        answers = [f"answer {i}" for i in range(len(batch))] if number % 2 else None
        read, members, told = receiver.asked(sender.ask(batch, MEMBERS, answers))
        assert told == answers
        for before, after in zip(batch, read, strict=True):
            assert replace(after, member=before.member) == before
            if before.member == UNPERTURBED:
                assert after.member == UNPERTURBED
            else:
                assert members[after.member] == MEMBERS[before.member]


@given(
    st.lists(
        st.builds(
            Completion,
            texts,
            st.sampled_from(["stop", "length", "nonfinite", "context"]),
            st.integers(0, 2**31 - 1),
            st.integers(0, 2**31 - 1),
            st.booleans(),
            texts,
        )
    ),
    st.lists(st.floats()),
)
def test_answers_come_back_as_they_were(completions: list[Completion], scores: list[float]) -> None:
    cost = Cost(1, 2, 3, 4, 5.5, 6.5)
    assert unpack_completions(pack_completions(completions, cost, 0.5)) == (completions, cost, 0.5)
    found, *rest = unpack_scores(pack_scores(scores, cost, 0.5))
    assert [math.isnan(score) or score for score in found] == [math.isnan(score) or score for score in scores]
    assert rest == [cost, 0.5]


def test_a_large_step_is_told_in_few_bytes() -> None:
    """256 members with 8 blocks each and 64 tasks in 6 rounds over 8 workers: what one of them is sent, and its
    answers."""
    blocks = [f"layer-{i}" for i in range(8)]
    members = [
        Perturbation(direction_seed(3, 0, i // 2), 1 - 2 * (i % 2), dict.fromkeys(blocks, 0.01)) for i in range(256)
    ]
    sender, total = Sender(), 0
    for turn in range(6):
        asked = [
            Request("policy", f"task {task}, turn {turn} of member {member}", "shots\n" * 99, member)
            for member in range(32)
            for task in range(64)
        ]
        answers = [Completion("four words of text", "stop", 150 + i % 31, 4 + i % 3) for i in range(len(asked))]
        total += len(sender.ask(asked, members, None).control) + len(pack_completions(answers, Cost(), 1.0).control)
    update = Update(
        0, tuple(UpdateTerm(m.seed, dict.fromkeys(blocks, 1 / (i + 3))) for i, m in enumerate(members[::2])), {}
    )
    total += len(pack(update))
    assert 1_000 < total < LIMIT


@given(
    st.lists(st.floats(0.1, 100), min_size=1, max_size=7),
    st.lists(st.floats(0.5, 4), min_size=1, max_size=3),
)
def test_no_deal_takes_more_than_twice_the_best(costs: list[float], speeds: list[float]) -> None:
    units = [Unit(number, (number,), cost) for number, cost in enumerate(costs)]
    chosen = deal(units, speeds, [0.0] * len(speeds), {})
    best = min(duration(costs, speeds, each) for each in itertools.product(range(len(speeds)), repeat=len(costs)))
    assert duration(costs, speeds, chosen) <= 2 * best * (1 + 1e-9)


def duration(costs: list[float], speeds: list[float], chosen: object) -> float:
    loads = [0.0] * len(speeds)
    for cost, worker in zip(costs, chosen, strict=True):  # type: ignore[call-overload]
        loads[worker] += cost
    return max(load / speed for load, speed in zip(loads, speeds, strict=True))


def test_a_worker_of_half_the_speed_gets_half_as_much() -> None:
    units = [Unit(number, (number,), 1.0) for number in range(30)]
    chosen = deal(units, [2.0, 1.0], [0.0, 0.0], {})
    assert (chosen.count(0), chosen.count(1)) == (20, 10)
    assert deal(units, [1.0, 1.0], [10.0, 0.0], {}).count(1) == 20, "one is busy with ten more"
    placed = deal(units, [1.0, 1.0], [0.0, 0.0], dict.fromkeys(range(12), 1))
    assert placed[:12] == [1] * 12
    assert placed.count(0) == placed.count(1)


def test_speeds_are_learned_and_a_newcomer_counts_as_the_others() -> None:
    assert learned_speed(None, 10.0, 2.0) == 5.0
    assert learned_speed(5.0, 10.0, 1.0) == 7.5
    assert known_speeds([2.0, None, 4.0]) == [2.0, 3.0, 4.0]
    assert known_speeds([None]) == [1.0]


def test_costs_follow_the_lengths_of_answers() -> None:
    expected = Expectation()
    short, long = Request("a", "x" * 32, max_new_tokens=40), Request("b", "x" * 32, max_new_tokens=40)
    assert expected.cost(short) == expected.cost(long) == 20 + 32 / 4 / 8
    expected.learn([short, short, long], [Completion("", completion_tokens=n) for n in (1, 3, 30)])
    assert (expected.cost(short), expected.cost(long)) == (2 + 1, 30 + 1)


REACH = {"a": frozenset({"a"}), "b": frozenset({"b"})}


def test_members_that_do_not_reach_a_module_share_its_requests_with_the_centre() -> None:
    only_b = [replace(member, sigma={"b": 0.25}) for member in MEMBERS]
    asked = [Request(module, "p", member=member) for module in "ab" for member in (UNPERTURBED, 0, 2)]
    parameters = parameters_of(asked, only_b, REACH)
    assert parameters[:4] == [None] * 4
    assert len(set(parameters[3:])) == 3
    assert twins(asked, parameters) == [0, 0, 0, 3, 4, 5]
    assert twins(asked, parameters_of(asked, only_b, None)) == [0, 1, 2, 3, 4, 5], "unknown reach: nothing is shared"
    sampled = [
        replace(request, temperature=1.0, seed=seed) for request, seed in zip(asked, (1, 1, 2, 3, 3, 3), strict=True)
    ]
    assert twins(sampled, parameters) == [0, 0, 2, 3, 4, 5], "draws under other keys are other requests"


def test_units_keep_members_together_or_prompts() -> None:
    asked = [Request("a", prompt, member=member) for prompt in "pq" for member in (UNPERTURBED, 0, 2)]
    parameters = parameters_of(asked, MEMBERS, REACH)
    everything = range(len(asked))
    by_member = make_units(asked, parameters, everything, "members", Expectation())
    assert [unit.requests for unit in by_member] == [(0,), (1, 4), (2, 5), (3,)]
    by_prompt = make_units(asked, parameters, everything, "prompts", Expectation())
    assert [unit.requests for unit in by_prompt] == [(0, 1, 2), (3, 4, 5)]
    assert len({unit.key for unit in by_member}) == 4


def update(step: int) -> Update:
    return Update(step, (), {})


def test_the_shortest_way_to_a_state_comes_first() -> None:
    history = History("start")
    for step in range(9):
        history.add(update(step))
        if step in (1, 3, 4, 5, 7):
            history.kept(Path(f"{step}"))
    fresh = [(route.path and route.path.name, route.position) for route in history.routes(fresh=True)]
    assert fresh == [("7", 8), ("5", 6), ("4", 5), ("1", 2), (None, 0)], "the newest three, the first, and from scratch"
    assert all(route.path for route in history.routes(fresh=False))
    history.loaded(Path("other"))
    history.add(None)
    assert history.epoch == 1
    assert [(route.path, route.position) for route in history.routes(fresh=True)] == [(Path("other"), 0)]


def test_traffic_is_counted_by_worker_and_events_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    traffic = Traffic()
    traffic.carried(0, Parcel(b"12345", b"text"), Parcel(b"123"))
    traffic.carried(1, Parcel(b"1"))
    traffic.event("lost", 1, "it died")
    told = traffic.report(workers=2)
    (event,) = told.pop("events")
    assert (event["event"], event["worker"], event["why"]) == ("lost", 1, "it died")
    assert told == {
        "workers": 2,
        "message_bytes": 8,
        "all_message_bytes": 9,
        "text_bytes": 4,
        "replay_bytes": 0,
        "calls": 2,
    }
    assert traffic.report(2)["events"] == []
    traffic.mark()
    assert traffic.report(2)["all_message_bytes"] == 0
    traffic.carried(0, Parcel(bytes(LIMIT + 1)))
    traffic.report(2)
    traffic.report(2)
    assert [f"a step took {LIMIT + 1} bytes" in record.getMessage() for record in caplog.records[1:]] == [True]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["backend.workers=3"], "backend=hf has no workers"),
        (["backend=ray", "backend.inner=hg"], "backend.inner=hg: did you mean hf"),
        (["backend=ray", "backend.device=cuda:1"], "Ray says which GPU"),
        (["backend=ray", "backend.gpus=2"], "runs on one GPU"),
        (["backend=ray", "backend.address='ray://head:10001'"], "10.0.0.1:6379, or auto"),
        (["backend=ray", "backend.gpus=1", "backend.device=cpu"], "uses none"),
        (["backend=ray", "backend.workers=0"], "backend.workers=0: must be from 1"),
        (["backend=ray", "backend.inner=synthetic"], "backend=synthetic needs"),
        (["task=synthetic", "backend=ray"], "backend=hf"),
    ],
)
def test_settings_that_no_pool_can_have_are_told_in_one_line(overrides: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        compose(overrides)
    assert any(said in problem for problem in raised.value.problems), raised.value.problems


def test_a_pool_of_synthetic_backends_composes() -> None:
    assert compose(["task=synthetic", "backend=ray", "backend.inner=synthetic"]).backend.inner == "synthetic"


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("make", "cluster"):
        monkeypatch.delitem(sys.modules, f"esagent.backends.ray.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EnvironmentFailure, match=r"pip install 'esagent\[ray\]'"):
        make_backend(compose(["backend=ray"]), ("planner",))
