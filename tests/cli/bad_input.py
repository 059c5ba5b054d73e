"""The corpus of wrong command lines: what is typed, the exit code, and for each line told the parts it must hold.

They are run in a folder with the files that `make_files` makes. `{runs}` stands for a finished run there.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from esagent.runs.directory import RunDirectory
from tests.helpers.tiny import make_tiny_folder

Case = tuple[str, int, list[tuple[str, ...]]]
"""Words split at blanks; exit code; the parts of every line on standard error."""

MODEL = "model=./tiny model.dtype=float32 space.layers=last:2"
SMALL = "task.pool=2 task.validation=0 task.heldout=2 budget.tasks_per_step=1 agent.max_turns=2"
ROWS = "task=jsonl task.pool=4 task.validation=2 task.heldout=4 budget.tasks_per_step=2"
"""The smallest run there is: enough to come to what is wrong with one thing alone."""

USAGE: list[Case] = [
    ("trian", 2, [("trian", "Did you mean 'train'?", "esagent --help")]),
    ("exprot latest", 2, [("exprot", "'export'")]),
    ("--nope", 2, [("--nope", "esagent --help")]),
    ("train --dry-rum", 2, [("--dry-rum", "--dry-run", "esagent train --help")]),
    ("train --config-dir absent", 2, [("--config-dir", "absent", "does not exist")]),
    ("train --config-dir rows.jsonl", 2, [("--config-dir", "rows.jsonl", "is a file")]),
    ("train --config-dir", 2, [("--config-dir", "requires an argument")]),
    ("resume", 2, [("Missing argument 'RUN'", "esagent resume --help")]),
    ("resume a b", 2, [("run 'a' does not exist", "nearest is")]),
    ("resume latest --dry-run", 2, [("--dry-run", "esagent resume --help")]),
    ("export", 2, [("Missing argument 'RUN'",)]),
    ("export latest --format", 2, [("--format", "requires an argument")]),
    ("export latest --state", 2, [("--state", "requires an argument")]),
    ("export latest budget.steps=3", 2, [("unexpected extra argument",)]),
]

SETTINGS: list[Case] = [
    ("train budget=quik", 2, [("budget=quik", "did you mean quick?")]),
    ("train bugdet=quick", 2, [("bugdet", "did you mean budget?")]),
    ("train model=smollm2-135", 2, [("model=smollm2-135", "did you mean smollm2-135m?", "hub id")]),
    ("train budget.stesp=4", 2, [("budget.stesp", "did you mean budget.steps?")]),
    ("train layers=3", 2, [("layers", "did you mean space.layers?")]),
    ("train =3", 2, [("=3", "no such key")]),
    ("train budget", 2, [("'budget'", "key=value")]),
    ("train budget.steps=two", 2, [("budget.steps=two", "Integer")]),
    ("train objective=loss", 2, [("objective=loss", "reward, likelihood")]),
    ("train sigma=auto sigma.per=module", 2, [("sigma.per=module", "block, all")]),
    ("train sigma=atuo", 2, [("sigma=atuo", "did you mean auto?")]),
    ("train budget.steps=1.5", 2, [("budget.steps=1.5", "Integer")]),
    ("train sigma.start=high", 2, [("sigma.start=high", "Float")]),
    ("train space.sites=down_proj", 2, [("space.sites=down_proj",)]),
    ("train budget={steps:2", 2, [("budget={steps:2", "not an override")]),
    ("train algorithm.antithetic=perhaps", 2, [("algorithm.antithetic=perhaps", "bool")]),
    ("train model.dtype=fp16", 2, [("model.dtype=fp16", "float32, bfloat16, auto")]),
    ("train model=custom", 2, [("unknown model 'custom'", "a hub id", "model.source")]),
    ("train model.source=???", 2, [("model.source", "has no value", "model.source=")]),
    ("train budget.steps=0", 2, [("budget.steps=0", "from 1")]),
    ("train budget.steps=99999999999", 2, [("budget.steps=99999999999", "to 1000000")]),
    ("train sigma.start=inf", 2, [("sigma.start=inf", "above 0")]),
    ("train algorithm.momentum=1 algorithm.rule=momentum", 2, [("algorithm.momentum=1.0", "from 0 to 0.9999")]),
    ("train +x=1", 2, [("+x=1", "hydra.* only")]),
    ("train ++seed=3", 2, [("++seed=3", "write seed=")]),
    ("train ~budget", 2, [("~budget", "hydra.* only")]),
    ("train seed=1,2", 2, [("seed=1,2", "need -m")]),
    ("train -m seed=interval(0,1)", 2, [("seed=interval(0,1)", "choice or range")]),
    ("train -m seed=1,x", 2, [("seed=x", "Integer")]),
    ("train hydra.nope=1", 2, [("hydra.nope",)]),
    ("train -m experiment=null,quickstart", 2, [("experiment=null", "not an option of experiment")]),
    ("train hydra.sweeper.params={seed:3}", 2, [("hydra.sweeper.params={seed:3}", "write the values themselves")]),
    ("train hydra/sweeper=optuna", 2, [("hydra/sweeper=optuna: not an option", "choose from basic")]),
    ("train @seed=1", 2, [("@seed=1", "packages", "write key=...")]),
    ("train seed=${nowhere}", 2, [("nowhere",)]),
    (
        "train --json modle=x +y=1 budget.steps=-1 task.level=esay space.layers=99 name=a/b",
        2,
        [("modle",), ("+y=1",), ("budget.steps=-1",), ("name='a/b'",), ("task.level=esay",), ("space.layers",)],
    ),
]

CONTRADICTIONS: list[Case] = [
    ("train space.rank=4", 2, [("space.rank=4", "space=bias has none", "space=core")]),
    ("train space.init=orthonormal", 2, [("space.init=orthonormal", "space=core")]),
    ("train space=lora space.init=orthonormal", 2, [("space.init=orthonormal", "space=lora has none", "space=core")]),
    ("train space=core space.sigma_a=1", 2, [("space.sigma_a=1.0", "space=core has none", "space=lora")]),
    ("train space=lora space.sigma_a=1 space.sigma_b=0", 2, [("space.sigma_b=0.0", "changes nothing")]),
    ("train space=core space.vectors=none", 2, [("space.vectors=none", "space=core has none", "space=lowrank")]),
    ("train space=lowrank space.vectors=dens", 2, [("space.vectors=dens", "did you mean dense?")]),
    ("train space=lowrank space.partition=random", 2, [("space.partition=random", "one sigma per matrix", "layer")]),
    ("train space=lowrank space.partition=module", 2, [("space.partition=module", "space=lowrank", "whole")]),
    ("train space=lowrank space.positions=answer", 2, [("space.positions=answer", "space.positions=all")]),
    ("train space=lowrank space.modules=[caller]", 2, [("space.modules=[caller]", "all modules share")]),
    ("train space=lowrank space.layers=last:2", 2, [("space.layers=last:2", "space.include")]),
    ("train space=lowrank space.init=orthonormal", 2, [("space.init=orthonormal", "space=lowrank has none")]),
    ("train space=full space.rank=4", 2, [("space.rank=4", "space=full has none", "space=lowrank")]),
    ("train space=lora space.sigma_a=-1", 2, [("space.sigma_a=-1.0", "from 0")]),
    ("train agent=react agent.constrained=true", 2, [("agent.constrained", "agent=modular")]),
    ("train agent=react space.modules=[caller]", 2, [("space.modules=caller", "policy")]),
    ("train agent.target=a:B agent.constrained=true", 2, [("agent.constrained", "agent.options.constrained")]),
    ("train agent.target=a:B agent.prompts=tiny", 2, [("agent.prompts", "agent.options.prompts")]),
    ("train task.scorer=exact", 2, [("task.scorer=exact", "task=jsonl")]),
    ("train task.path=rows.jsonl", 2, [("task.path=rows.jsonl", "choose jsonl")]),
    ("train task.target=a:B task.path=rows.jsonl", 2, [("task.path=rows.jsonl", "task.options.path")]),
    ("train task=jsonl task.path=rows.jsonl task.level=hard", 2, [("task.level=hard", "no levels")]),
    ("train task.options={size:3}", 2, [("task.options.size", "task.target")]),
    ("train task.level=hard", 2, [("agent.max_turns=2", "agent.max_turns=3")]),
    ("train algorithm.momentum=0.5", 2, [("algorithm.momentum=0.5", "algorithm.rule=momentum")]),
    ("train algorithm.directions=1 algorithm.antithetic=false allocation=joint", 2, [("directions=1", "use 2")]),
    ("train budget.select=validation task.validation=0", 2, [("budget.select=validation", "budget.select=last")]),
    ("train budget.tasks_per_step=99", 2, [("budget.tasks_per_step=99", "1 to 96")]),
    ("train model.revision=main", 2, [("model.revision=main", "hub")]),
    ("train model=./tiny space.layers=4-9", 2, [("space.layers='4-9'", "0-3")]),
    (
        "train sigma.target=0.2 sigma.probes=8",
        2,
        [("sigma.target=0.2", "sigma=auto"), ("sigma.probes=8", "sigma=auto")],
    ),
    ("train sigma=auto sigma.tasks=99", 2, [("sigma.tasks=99", "1 to 96")]),
    ("train sigma=auto sigma.target=1.5", 2, [("sigma.target=1.5", "from 0.01 to 0.99")]),
    ("train sigma=auto sigma.keep=-1", 2, [("sigma.keep=-1.0", "from 0 to 1")]),
    ("train sigma=auto sigma.probes=0", 2, [("sigma.probes=0", "from 1")]),
    ("train objective=likelihood agent=react", 2, [("objective=likelihood", "agent=react", "agent=modular")]),
    ("train init_state=3", 2, [("init_state=3", "init=RUN")]),
]

FILES: list[Case] = [
    ("train task=jsonl", 2, [("task.path=null", "questions.jsonl")]),
    ("train task=jsonl task.path=absent.jsonl", 2, [("task.path=absent.jsonl", "no such file")]),
    ("train task=jsonl task.path=tiny", 2, [("task.path=tiny", "no such file")]),
    (f"train {MODEL} {ROWS} task.path=empty.jsonl", 2, [("empty.jsonl", "no rows")]),
    (f"train {MODEL} {ROWS} task.path=binary.jsonl", 2, [("binary.jsonl", "cannot read")]),
    (f"train {MODEL} {ROWS} task.path=bad.jsonl", 2, [("line 2", "not JSON"), ("line 3", "'answer'", "question")]),
    (
        f"train {MODEL} {ROWS} task.path=rows.jsonl task.pool=400",
        2,
        [("rows.jsonl", "400 were asked for", "task.pool")],
    ),
    (f"train {ROWS} task.path=rows.jsonl objective=likelihood", 2, [("task=jsonl has no gold outputs", "reward")]),
    (
        f"train {MODEL} {SMALL} task.target=my_family:MyFamily objective=likelihood",
        2,
        [
            (
                "objective=likelihood: legs has no gold outputs for this agent",
                "one of caller where the agent asks its planner",
            )
        ],
    ),
    (f"train {MODEL} task=bfcl task.options.categories=[simpel]", 2, [("task.options.categories", "simpel", "simple")]),
    (f"train {MODEL} task=bfcl task.pool=4000", 2, [("bfcl", "4000 were asked for", "task.pool")]),
    ("train task=bfcl task.options.category=simple", 2, [("task.options.category", "categories alone")]),
    (f"train {MODEL} {ROWS} task.path=rows.jsonl task.scorer=exat", 2, [("task.scorer", "exat", "exact")]),
    (f"train {MODEL} {ROWS} task.path=rows.jsonl task.scorer=nowhere:f", 2, [("task.scorer", "nowhere")]),
    (
        f"train {MODEL} {ROWS} task.path=rows.jsonl task.options.shares=[1,1,1]",
        2,
        [("task.options.shares", "sum to 1")],
    ),
    (f"train {MODEL} {ROWS} task.path=rows.jsonl task.options.shares=abc", 2, [("task.options.shares", "sum to 1")]),
    (f"train {MODEL} {ROWS} task.path=rows.jsonl task.options.tools=[hammer]", 2, [("hammer", "calculator")]),
    (
        f"train {MODEL} {ROWS} task.path=rows.jsonl task.options.question=q",
        2,
        [("no text under 'q'",)] * 5 + [("more",)],
    ),
    (f"train {MODEL} {SMALL} task.options.weights=heavy", 2, [("task.options.weights",)]),
    (f"train {MODEL} {SMALL} agent.options.max_new_tokens=5", 2, [("agent.options.max_new_tokens",)]),
    (f"train {MODEL} {SMALL} agent.options.max_new_tokens.planer=5", 2, [("max_new_tokens", "planer", "planner")]),
    ("train task.target=nowhere:F", 2, [("task.target", "cannot import 'nowhere'")]),
    ("train task.target=broken:F", 2, [("task.target", "broken", "SyntaxError")]),
    ("train task.target=own:Fmaily", 2, [("task.target", "own has no class 'Fmaily'", "Family")]),
    ("train task.target=own:Family", 2, [("task.target", "own:Family has no method")]),
    ("train task.target=own:Raises", 2, [("task.target", "own:Raises", "ValueError")]),
    ("train task.target=own", 2, [("task.target=own", "my_module:MyFamily")]),
    (f"train {MODEL} {SMALL} agent.target=own:Agent", 2, [("agent.target", "own:Agent", "modules")]),
    (f"train {MODEL} {SMALL} agent.target=own:Exits", 2, [("agent.target", "own:Exits", "SystemExit")]),
    ("train agent.prompts=absent", 2, [("agent.prompts=absent", "no such folder")]),
    (f"train {MODEL} {SMALL} agent.prompts=tiny", 2, [("planner.txt",), ("selector",), ("caller",), ("synthesizer",)]),
    ("train model=./absent", 2, [("model.source=./absent", "config.json")]),
    ("train model=./rows.jsonl", 2, [("model.source=./rows.jsonl", "config.json")]),
    ("train model='~nobody/x'", 2, [("model.source=~nobody/x", "config.json")]),
    (f"train model=./no-weights {SMALL}", 3, [("no-weights", "model.safetensors missing")]),
    (f"train model=./no-tokenizer {SMALL}", 3, [("no-tokenizer", "tokenizer.json missing")]),
    (f"train model=./bad-config {SMALL}", 2, [("model.source=./bad-config", "JSONDecodeError")]),
    (f"train model=./no-decoder {SMALL}", 2, [("model.source=./no-decoder", "no causal language model")]),
    (f"train model=./bad-weights {SMALL} space.layers=last:2", 2, [("model.source=./bad-weights",)]),
    (f"train model=./bad-index {SMALL} space.layers=last:2", 3, [("model.safetensors.index.json", "cannot be read")]),
    (f"train model=./bad-tokenizer {SMALL} space.layers=last:2", 3, [("tokenizer", "bad-tokenizer")]),
    (f"train {MODEL} {SMALL} model.prompt_style=chat", 2, [("model.prompt_style=chat", "no chat template")]),
    (f"train {MODEL} {SMALL} space.sites=[down_prj]", 2, [("down_prj", "down_proj")]),
    (f"train {MODEL} {SMALL} space=core space.rank=99 space.layers=last:2", 2, [("space.rank=99", "at most 64")]),
    (f"train {MODEL} {SMALL} space=lora space.rank=99 space.layers=last:2", 2, [("space.rank=99", "at most 64")]),
    ("train backend.engine.max_loras=4", 2, [("backend.engine.max_loras=4", "backend=vllm", "backend=hf")]),
    ("train backend=vllm backend.engine.dtype=fp8", 2, [("backend.engine.dtype=fp8", "float32, bfloat16, auto")]),
    (f"train {MODEL} {SMALL} backend.device=cuda:99", 3, [("backend.device=cuda:99", "CUDA devices")]),
    ("train runs_dir=rows.jsonl", 2, [("runs_dir=rows.jsonl", "is not a folder")]),
    ("train runs_dir=rows.jsonl/deeper", 2, [("runs_dir=rows.jsonl/deeper", "rows.jsonl is not a folder")]),
    (f"train {MODEL} {SMALL} runs_dir=/proc/esagent", 3, [("cannot make a run directory", "/proc/esagent")]),
    ("train --config-dir own-conf budget=mine", 2, [("budget.stesp", "budget/mine.yaml")]),
    ("train --config-dir own-conf budget=torn", 2, [("torn.yaml",)]),
    ("train --config-dir own-conf budget=list", 2, [("budget/list.yaml",)]),
    *(
        (f"train --config-dir own-conf budget={name}", 2, [("--config-dir own-conf", "no configuration")])
        for name in ("scalar", "binary", "itself", "text-defaults", "odd-defaults", "deep")
    ),
]

RUNS: list[Case] = [
    ("resume absent", 2, [("run 'absent' does not exist", "nearest is")]),
    ("resume rows.jsonl", 2, [("run 'rows.jsonl' does not exist",)]),
    ("resume runs/damaged/no-yaml", 2, [("config.yaml is damaged", "not YAML", "manifest.json")]),
    ("resume runs/damaged/other-yaml", 2, [("config.yaml is damaged", "lacks model, ", "manifest.json")]),
    ("resume runs/damaged/a-list", 2, [("config.yaml is damaged", "lacks model, ", "manifest.json")]),
    ("resume {run} seed", 2, [("'seed'", "write key=value")]),
    ("resume {run} sede=3", 2, [("sede: no such key", "seed")]),
    ("resume {run} seed=3", 2, [("not those it was started with", "--fork"), ("seed was 1, is 3",)]),
    ("resume {run} --fork", 2, [("--fork: no setting was changed",)]),
    ("resume {run} --fork space=core", 2, [("space=core", "single settings")]),
    ("export absent", 2, [("run 'absent' does not exist", "nearest is")]),
    ("export {run} --format peff", 2, [("--format peff", "did you mean peft?")]),
    ("export {run} --state bset", 2, [("state 'bset'", "best, last, or a number")]),
    ("export {run} --state 99", 2, [("state 99", "0 to 8")]),
    ("export {run} --state -1", 2, [("state '-1'",)]),
    ("export {run} --format peft", 2, [("--format peft", "positions=answer", "--format hooks")]),
    ("export {run} --output tiny", 2, [("--output tiny", "is there already")]),
    ("export {run} --output rows.jsonl", 2, [("--output rows.jsonl", "is there already")]),
    ("export runs/damaged/no-yaml", 2, [("config.yaml", "cannot be read")]),
    ("export runs/damaged/no-journal", 2, [("line 1 of 8", "not JSON")]),
    ("export runs/damaged/no-summary", 2, [("has not finished", "esagent resume")]),
    ("train init=absent", 2, [("init=absent", "does not exist", "nearest is")]),
    ("train init={run} init_state=99", 2, [("init={run}", "state 99", "0 to 8")]),
    ("train init={run} init_state=bset", 2, [("init={run}", "'bset'")]),
    ("train init={run} space=core space.positions=answer space.sites=[down_proj]", 2, [("space.name is bias there",)]),
    (
        "train init={run} space.positions=all space.layers=last:3",
        2,
        [("space.positions is answer there and all here",), ("space.layers is 18-29 there and last:3 here",)],
    ),
    ("train init=runs/damaged/no-yaml", 2, [("init=runs/damaged/no-yaml", "cannot be read")]),
]

ALL: list[Case] = [*USAGE, *SETTINGS, *CONTRADICTIONS, *FILES, *RUNS]

_MALFORMED = {
    "list": b"- 1\n",
    "scalar": b"7\n",
    "binary": b"\xff\xfe\x00\x01",
    "itself": b"defaults: [itself]\n",
    "text-defaults": b"defaults: quick\n",
    "odd-defaults": b"defaults: [[a]]\n",
    "deep": b"steps: " + b"[" * 3000,
}

_OWN = """
class Family:
    name = "own"

class Raises:
    def __init__(self):
        raise ValueError("two\\nlines")

class Agent:
    modules = []

class Exits:
    def __init__(self):
        raise SystemExit(0)
"""


def make_files(folder: Path, run: RunDirectory) -> None:
    """Everything that the corpus names, and a copy of the finished `run`."""
    rows = [json.dumps({"question": f"What is {i} + {i}?", "answer": str(2 * i)}) for i in range(40)]
    (folder / "rows.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "bad.jsonl").write_text(f'{rows[0]}\n{{"question": "a"\n{{"question": "b"}}\n')
    (folder / "empty.jsonl").write_text("\n\n")
    (folder / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    (folder / "own.py").write_text(_OWN)
    (folder / "broken.py").write_text("def (:\n")
    (folder / "own-conf" / "budget").mkdir(parents=True)
    (folder / "own-conf" / "budget" / "mine.yaml").write_text("stesp: 3\n")
    (folder / "own-conf" / "budget" / "torn.yaml").write_text("steps: [3\n")
    shutil.copyfile(Path(__file__).parents[2] / "docs" / "examples" / "my_family.py", folder / "my_family.py")
    for name, text in _MALFORMED.items():
        (folder / "own-conf" / "budget" / f"{name}.yaml").write_bytes(text)
    make_tiny_folder(folder / "tiny")
    _models(folder)
    _runs(folder / "runs", run)


def _models(folder: Path) -> None:
    for name in ("no-weights", "no-tokenizer", "bad-config", "no-decoder", "bad-weights", "bad-index", "bad-tokenizer"):
        shutil.copytree(folder / "tiny", folder / name)
    (folder / "no-weights" / "model.safetensors").unlink()
    (folder / "no-tokenizer" / "tokenizer.json").unlink()
    (folder / "bad-config" / "config.json").write_text("{")
    (folder / "no-decoder" / "config.json").write_text('{"model_type": "vit"}')
    (folder / "bad-weights" / "model.safetensors").write_bytes(b"\x10" + b"\x00" * 7 + b"{")
    (folder / "bad-index" / "model.safetensors.index.json").write_text("[]")
    (folder / "bad-tokenizer" / "tokenizer.json").write_text("{}")


def _runs(folder: Path, run: RunDirectory) -> None:
    shutil.copytree(run.path, folder / "vector" / run.id)
    damaged = {
        name: folder / "damaged" / name for name in ("no-yaml", "other-yaml", "a-list", "no-journal", "no-summary")
    }
    for copy in damaged.values():
        shutil.copytree(run.path, copy)
        RunDirectory(copy).summary.unlink()
    RunDirectory(damaged["no-yaml"]).config.write_text("a: [\n")
    RunDirectory(damaged["other-yaml"]).config.write_text("colour: red\n")
    RunDirectory(damaged["a-list"]).config.write_text("- 1\n")
    shutil.copy(run.summary, damaged["no-journal"])
    journal = RunDirectory(damaged["no-journal"]).journal
    journal.write_text("{torn\n" + journal.read_text().partition("\n")[2])
