"""Bad input: every problem is told at once, one line each, naming the place and a valid choice."""

from __future__ import annotations

from pathlib import Path

import pytest

from esagent.config.compose import compose
from esagent.errors import ConfigError

# overrides (split at blanks), and for every expected problem the parts its line must hold, in any order of problems
BAD: list[tuple[str, list[tuple[str, ...]]]] = [
    ("task.level=hard", [("agent.max_turns=2", "use agent.max_turns=3")]),
    ("algorithm.normalise=yes", [("algorithm.normalise", "none, block, total")]),
    ("space.positions=prompt", [("space.positions=prompt", "all, answer")]),
    ("space.noise=cauchy", [("space.noise=cauchy", "gaussian, rademacher")]),
    ("sigma.modules={plannr:1}", [("sigma.modules.plannr", "planner")]),
    ("budget=quik", [("budget=quik", "did you mean quick?")]),
    ("model=smollm2-135", [("model=smollm2-135", "smollm2-135m", "hub id")]),
    ("model=null", [("model=null", "smollm2-135m")]),
    ("experiment=quickstrat", [("experiment", "quickstart")]),
    ("modle=smollm2-135m", [("modle", "did you mean model?")]),
    ("budget.stesp=4", [("budget.stesp", "did you mean budget.steps?")]),
    ("steps=4", [("steps", "did you mean budget.steps?")]),
    ("space.layers.first=3", [("space.layers.first", "no such key")]),
    ("budget.steps=abc", [("budget.steps=abc", "Integer")]),
    ("budget.steps=2.5", [("budget.steps=2.5", "Integer")]),
    ("budget.steps=", [("budget.steps=", "Integer")]),
    ("backend.share_trunk=maybe", [("backend.share_trunk=maybe", "bool")]),
    ("space.modules=caller", [("space.modules=caller",)]),
    ("algorithm.shaping=zscor", [("algorithm.shaping=zscor", "none, zscore, block_zscore, ranks, group")]),
    ("sigma.schedule=cosin", [("sigma.schedule=cosin", "constant, linear, cosine, exponential")]),
    ("budget.steps=-3", [("budget.steps=-3", "from 1 to 1000000")]),
    ("algorithm.directions=0", [("algorithm.directions=0", "from 1")]),
    ("sigma.start=0", [("sigma.start=0.0", "above 0")]),
    ("sigma.start=nan", [("sigma.start=nan", "above 0")]),
    ("sigma.modules={caller:-1}", [("sigma.modules.caller=-1.0", "above 0")]),
    ("seed=-1", [("seed=-1", "from 0")]),
    ("+x=1", [("+x=1", "hydra.* only")]),
    ("++budget.steps=3", [("++budget.steps=3", "write budget.steps=")]),
    ("~model", [("~model", "hydra.* only")]),
    ("budget@here=quick", [("budget@here=quick", "packages")]),
    ("budget.steps", [("budget.steps", "key=value")]),
    ("budget.steps=[", [("budget.steps=[", "key=value")]),
    ("seed=1,2", [("seed=1,2", "need -m")]),
    ("budget.steps=${nowhere}", [("budget.steps", "nowhere")]),
    ("hydra/launcher=nope", [("hydra/launcher=nope", "basic")]),
    ("hydra.nope=1 budget.steps=0", [("hydra.nope",), ("budget.steps=0",)]),
    ("hydra/launcher=null", [("hydra/launcher=null", "string")]),
    ("task=jsonl", [("task.path=null", "task.path=questions.jsonl")]),
    ("task=jsonl task.path=absent.jsonl", [("task.path=absent.jsonl", "no such file")]),
    ("task.path=rows.jsonl", [("task.path=rows.jsonl", "jsonl")]),
    ("task=math task.level=gsm8 agent=react", [("task.level=gsm8", "did you mean gsm8k?")]),
    ("task=math task.path=absent.jsonl", [("task.path=absent.jsonl", "no such file or folder")]),
    ("task=countdown task.path=someone/rows", [("task.path=someone/rows", "no such file or folder")]),
    ("task=countdown task.level=hard", [("task.level=hard", "has no levels")]),
    ("task=math task.scorer=exact", [("task.scorer=exact", "scores by itself")]),
    ("task=math task.options.call=3", [("task.options.call", "takes generators, reward, calls")]),
    ("task.target=my_module", [("task.target=my_module", "my_module:MyFamily")]),
    ("task.options={a:1}", [("task.options", "task.target")]),
    ("task.level=esay", [("task.level=esay", "did you mean easy?")]),
    ("space.layers=nonsense", [("space.layers='nonsense'", "last:N")]),
    ("space.layers=28-31", [("space.layers='28-31'", "0-29")]),
    ("space.layers=9-3", [("space.layers='9-3'", "3-9")]),
    ("space=full space.positions=answer", [("space.positions=answer", "use space.positions=all")]),
    ("space=full space.modules=[caller]", [("space.modules=[caller]", "all modules share")]),
    ("space=full space.sites=[q_proj]", [("space.sites=[q_proj]", "space.include")]),
    ("space=full space.layers=last:3", [("space.layers=last:3", "space.include")]),
    ("space=full space.rank=4", [("space.rank=4", "space=core")]),
    ("space=full space.init=orthonormal", [("space.init=orthonormal", "space=core")]),
    ("space=full space.partition=module", [("space.partition=module", "whole, layer, kind or random")]),
    ("space=full space.include=['(']", [("space.include='('", "no regular expression")]),
    ("space=full space.scale=relativ", [("space.scale=relativ", "did you mean relative?")]),
    ("space=full space.precision=exact", [("space.precision=exact", "master, stochastic")]),
    (
        "space=full space.precision=stochastic model.dtype=float32",
        [("space.precision=stochastic", "model.dtype=bfloat16")],
    ),
    ("space.include=[mlp]", [("space.include=[mlp]", "space=bias has none", "space=full")]),
    ("space.exclude=[mlp]", [("space.exclude=[mlp]", "space=full")]),
    ("space=core space.scale=relative", [("space.scale=relative", "space=core has none")]),
    ("space=core space.precision=stochastic", [("space.precision=stochastic", "space=full")]),
    ("space=full sigma.modules={wole:2}", [("sigma.modules.wole", "space.partition=whole", "did you mean whole?")]),
    ("space.partition=random sigma.modules={part-4:2}", [("sigma.modules.part-4", "did you mean part-")]),
    ("space.partition=layer sigma.modules={layer-17:2}", [("sigma.modules.layer-17", "layer-18")]),
    ("space.partition=kind sigma.modules={down_prj:2}", [("sigma.modules.down_prj", "did you mean down_proj?")]),
    (
        "space.partition=random space.parts=9 algorithm.directions=2 budget.steps=4",
        [("algorithm.directions=2", "8 directions for 9 blocks")],
    ),
    ("space.sites=[]", [("space.sites=[]", "down_proj")]),
    ("space.modules=[plannr]", [("space.modules=plannr", "did you mean planner?")]),
    ("agent=react space.modules=[caller]", [("space.modules=caller", "policy")]),
    ("agent=react agent.constrained=true", [("agent.constrained", "agent=modular")]),
    ("sigma.modules={calller:2}", [("sigma.modules.calller", "did you mean caller?")]),
    ("allocation.name=uniforme", [("allocation.name=uniforme", "did you mean uniform?")]),
    ("allocation=sfot", [("allocation=sfot", "did you mean soft?")]),
    ("allocation.wrap=flor", [("allocation.wrap=flor", "none, floor, burst, catchup")]),
    ("allocation=joint allocation.wrap=burst", [("allocation.wrap=burst", "allocation=joint", "allocation.wrap=none")]),
    ("allocation.wrap=floor allocation.phi=1.5", [("allocation.phi=1.5", "from 0 to 1")]),
    ("allocation=soft allocation.phi=0.3", [("allocation.phi=0.3", "choose allocation.wrap=floor")]),
    ("allocation.starvation=0.5", [("allocation.starvation=0.5", "allocation=starve")]),
    (
        "allocation=starve allocation.bottleneck=caller allocation.starvation=-1",
        [("allocation.starvation=-1.0", "from 0 to 1")],
    ),
    ("allocation=oracle", [("allocation.bottleneck=null", "as in allocation.bottleneck=planner")]),
    ("allocation=starve", [("allocation.bottleneck=null", "as in allocation.bottleneck=planner")]),
    ("allocation=oracle allocation.bottleneck=callr", [("allocation.bottleneck=callr", "did you mean caller?")]),
    (
        "allocation=oracle allocation.bottleneck=caller space.modules=[planner,selector]",
        [("allocation.bottleneck=caller", "choose from planner, selector")],
    ),
    ("allocation=soft allocation.bottleneck=caller", [("allocation.bottleneck=caller", "choose oracle or starve")]),
    (
        "agent=react allocation=starve allocation.bottleneck=policy",
        [("allocation=starve", "policy is all that is searched")],
    ),
    ("agent=react allocation=argmax", [("allocation=argmax", "policy is all that is searched", "choose uniform")]),
    ("space.modules=[caller] allocation=random", [("allocation=random", "caller is all that is searched")]),
    ("allocation=soft allocation.step_follows=sigma", [("allocation.step_follows=sigma", "soft_sigma")]),
    ("allocation=soft space.partition=layer", [("allocation=soft", "space.partition=layer", "allocation=uniform")]),
    ("allocation=ipw space=full", [("allocation=ipw", "space.partition=whole", "allocation=uniform")]),
    ("allocation=misroute objective=likelihood", [("allocation=misroute", "credit.source=unperturbed")]),
    ("algorithm.update_norm=total", [("algorithm.update_norm=total", "choose algorithm.normalise=none or total")]),
    ("algorithm=copes allocation.wrap=burst", [("allocation.wrap=burst", "copes means allocation.wrap=none")]),
    ("credit=emo", [("credit=emo", "did you mean ema?")]),
    ("credit.rate=0", [("credit.rate=0.0", "above 0, at most 1")]),
    ("credit.smoothing=-1", [("credit.smoothing=-1.0", "from 0")]),
    ("credit.tau=0", [("credit.tau=0.0", "from 0.01")]),
    ("credit.noise=1.1", [("credit.noise=1.1", "from 0 to 1")]),
    ("credit.clip=0", [("credit.clip=0.0", "above 0")]),
    ("credit.source=centre", [("credit.source=centre", "members, unperturbed")]),
    ("algorithm.directions=1 budget.steps=3", [("algorithm.directions=1", "4 modules", "allocation=joint")]),
    ("algorithm.rule=momentum", [("algorithm.momentum=0.0", "above 0")]),
    ("algorithm.momentum=0.9", [("algorithm.momentum=0.9", "algorithm.rule=momentum")]),
    ("sigma=exponential sigma.end=0", [("sigma.end=0.0", "above 0")]),
    ("algorithm.beta2=0.99", [("algorithm.beta2=0.99", "rule=plain has none", "algorithm.rule=adam")]),
    ("algorithm.rule=adam algorithm.beta1=1", [("algorithm.beta1=1.0", "from 0 to 0.9999")]),
    ("algorithm.rule=adam algorithm.beta2=-1", [("algorithm.beta2=-1.0", "from 0")]),
    ("algorithm.pull=-1", [("algorithm.pull=-1.0", "from 0")]),
    ("algorithm.pull=50", [("algorithm.pull=50.0", "overshoots", "at most 16.6667")]),
    ("algorithm.step_follows=alpha", [("algorithm.step_follows=alpha", "sigma, none")]),
    ("algorithm.step_factor=sqrt", [("algorithm.step_factor=sqrt", "one, sqrt_blocks, sqrt_members")]),
    ("algorithm.control=freeze", [("algorithm.control=freeze", "none, shuffled, frozen")]),
    ("sigma.by_size=perhaps", [("sigma.by_size=perhaps", "bool")]),
    ("algorithm.divide_by_sigma=true sigma=linear sigma.end=0", [("sigma.end=0.0", "divide_by_sigma", "above 0")]),
    (
        "algorithm.shaping=block_zscore allocation=joint",
        [("algorithm.shaping=block_zscore", "allocation=joint", "choose algorithm.shaping=zscore")],
    ),
    ("algorithm=egroll", [("algorithm=egroll", "did you mean eggroll?")]),
    ("algorithm=eggroll space=core", [("space=core", "algorithm.name=eggroll means space=lowrank", "algorithm=es")]),
    (
        "algorithm=copes allocation=joint space.partition=layer",
        [("allocation=joint", "copes means allocation=uniform"), ("partition=layer", "copes means", "random")],
    ),
    ("algorithm=es_at_scale allocation=uniform", [("allocation=uniform", "es_at_scale means allocation=joint")]),
    ("algorithm=agentic_esopt allocation=uniform", [("allocation=uniform", "agentic_esopt means allocation=joint")]),
    (
        "algorithm=mezo algorithm.antithetic=false algorithm.shaping=ranks algorithm.divide_by_sigma=false",
        [
            ("algorithm.antithetic=false", "mezo means algorithm.antithetic=true"),
            ("algorithm.shaping=ranks", "algorithm.shaping=none"),
            ("algorithm.divide_by_sigma=false", "true"),
            ("algorithm.directions=1", "use 2"),
        ],
    ),
    ("algorithm.step.warmup=16", [("algorithm.step.warmup=16", "0 to 15")]),
    ("budget.tasks_per_step=97", [("budget.tasks_per_step=97", "1 to 96")]),
    ("budget=tokens budget.steps=8", [("budget.tokens=8e+06", "budget.steps=8 is set too", "one of them")]),
    (
        "budget.tokens=2e6",
        [("budget.tokens=2e+06: budget.steps=16 is set too", "use budget=tokens budget.tokens=2e+06")],
    ),
    ("budget.steps=null", [("budget.steps=null", "steps, episodes, tokens, flops, seconds")]),
    ("budget=tokens budget.tokens=-5", [("budget.tokens=-5.0", "above 0")]),
    ("budget=seconds budget.seconds=0", [("budget.seconds=0.0", "above 0")]),
    ("budget=flops budget.flops=inf", [("budget.flops=inf", "above 0")]),
    ("budget=tokens budget.tokens=many", [("budget.tokens=many", "Float")]),
    ("budget=episodes budget.episodes=10 budget.tasks_per_step=12", [("the smallest step takes 24: 2 members",)]),
    ("budget=episodes budget.episodes=2.5", [("budget.episodes=2.5", "Integer")]),
    ("budget=episodes algorithm.step.warmup=40", [("algorithm.step.warmup=40", "0 to 15")]),
    ("budget=token", [("budget=token", "did you mean tokens?")]),
    ("budget=episodes algorithm.directions=0", [("algorithm.directions=0", "from 1")]),
    ("task.validation=0 budget.select=validation", [("budget.select=validation", "budget.select=last")]),
    ("model=./absent", [("model.source=./absent", "config.json")]),
    ("model.revision=main", [("model.revision=main", "hub")]),
    ("backend.device=gpu", [("backend.device=gpu", "cuda")]),
    ("name=a/b", [("name='a/b'", "letters")]),
    (
        "+x=1 modle=a budget.steps=no algorithm.directions=-2 task=jsonl space=core space.rank=0",
        [
            ("+x=1", "hydra.* only"),
            ("modle", "model"),
            ("budget.steps=no", "Integer"),
            ("algorithm.directions=-2", "from 1"),
            ("task.path=null", "jsonl"),
            ("space.rank=0", "from 1"),
        ],
    ),
]


@pytest.mark.parametrize(("overrides", "expected"), BAD, ids=[case[0] for case in BAD])
def test_bad_input(
    overrides: str, expected: list[tuple[str, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        compose(overrides.split(" "))
    problems = caught.value.problems
    assert len(problems) == len(expected), problems
    assert all("\n" not in problem for problem in problems)
    for parts in expected:
        assert any(all(part in problem for part in parts) for problem in problems), (parts, problems)
    assert list(tmp_path.iterdir()) == []


GOOD: list[tuple[list[str], str, object]] = [
    (["model=Qwen/Qwen2.5-0.5B-Instruct"], "model.source", "Qwen/Qwen2.5-0.5B-Instruct"),
    (["model=Qwen/Qwen2.5-0.5B-Instruct"], "model.name", "Qwen2.5-0.5B-Instruct"),
    (["model.name=mine", "model=Qwen/Qwen2.5-0.5B-Instruct"], "model.name", "mine"),
    (["task.target=a:B", "task.options.deep.size=3"], "task.options", {"deep": {"size": 3}}),
    (["sigma.modules.caller=0.5"], "sigma.modules.caller", 0.5),
    (["space.layers='24,27'"], "space.layers", "24,27"),
    (["space.layers=24"], "space.layers", "24"),
    (["algorithm.step={start: 2}"], "algorithm.step.start", 2.0),
    (["task.pool=${task.heldout}"], "task.pool", 96),
    (["+hydra.job.env_set.A=1", "hydra.verbose=true"], "seed", 0),
    (["experiment=quickstart", "budget=default"], "name", "quickstart"),
    (["seed=1", "seed=2"], "seed", 2),
    (["space=full", "sigma.modules.whole=0.5"], "sigma.modules.whole", 0.5),
    (["space=full", "space.partition=layer", "sigma.modules.layer-03=2"], "sigma.modules.layer-03", 2.0),
    (["space=full", "space.include=[layers\\.3]"], "space.include", ["layers\\.3"]),
]


@pytest.mark.parametrize(("overrides", "path", "value"), GOOD, ids=[" ".join(case[0]) for case in GOOD])
def test_good_input(overrides: list[str], path: str, value: object) -> None:
    found: object = compose(overrides)
    for part in path.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    assert found == value


@pytest.mark.parametrize("name", ["plain", "with blank", "it's", "back\\slash", "end\\", "q\\'", "d${x}", "ü,=[]{}"])
def test_any_folder_can_be_a_model(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from esagent.config.overrides import quoted

    monkeypatch.chdir(tmp_path)
    assert compose(["model=custom", f"model.source={quoted('a/b')}"]).model.source == "a/b"
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parsed = OverridesParser.create().parse_override(f"model.source={quoted(name)}")
    assert parsed.value() == name
