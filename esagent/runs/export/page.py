"""README.md of an export: what lies in the folder, and the code that loads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esagent.config.names import WEIGHT_SPACES

_HEAD = """\
# {base_name}, trained with esagent

State {state} of the run `{run}` (digest `{digest}`), in the format `{format}`. `export.json` says all of this to
programs.

Base model: `{source}`{revision}, SHA-256 over its weight files `{sha256}`.
Modules of the agent: {modules}. Trained: {trained}{positions}.

## Loading

{loading}
"""

_PROMPTS = """
## Prompts

{prompts}
"""

_RAW = """\
`prompts/<module>.txt` is what a module reads. Above the line `--- task ---` stand instructions and examples, below it
the template of one task with its fields in braces. The model reads the part above, an empty line, and the template
filled in, without any chat template; its answer ends with the line. Paragraphs are separated by empty lines; one whose
first line is `@name` is shown only when the tool of that name is offered, without that line."""

_CHAT = """\
`prompts/<module>.txt` is what a module is asked. Above the line `--- task ---` stand instructions (the system message)
and examples (pairs of a user and an assistant message), below it the template of one task with its fields in braces
(the last user message). The messages go through the tokenizer's own chat template."""

_OWN = "The agent is `{target}`, whose prompts are its own."

_COMPLETE = """\
    inputs = tokenizer(prompt, add_special_tokens=False, return_tensors="pt")
    output = model.generate(
        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], max_new_tokens=max_new_tokens,
        do_sample=False, repetition_penalty=1.0, stop_strings=list(stop), tokenizer=tokenizer,
        pad_token_id=tokenizer.eos_token_id,
    )
    text = tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    for end in stop:
        text = text.partition(end)[0]
    return text
```
"""

_PEFT = """\
One adapter folder per trained module, for [peft](https://huggingface.co/docs/peft). In this folder:

```python
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

base = {source!r}
tokenizer = AutoTokenizer.from_pretrained(base{keyword})
model = AutoModelForCausalLM.from_pretrained(base{keyword}, dtype=torch.float32)
model = PeftModel.from_pretrained(model, {first!r}, adapter_name={first!r})
for module in {rest!r}:
    model.load_adapter(module, adapter_name=module)


def complete(module, prompt, max_new_tokens=64, stop=("\\n",)):
    model.set_adapter(module)
{complete}{others}"""

_PEFT_VECTORS = """
The adapters are vectors on layers that have no bias of their own (peft says so in a warning): they act as they are, and
cannot be merged into the base model.
"""

_PEFT_OTHERS = """
The other modules are the base model: `with model.disable_adapter(): ...`
"""

_HF = """\
An ordinary model folder in {dtype} that holds what was trained in its weights; another number format {otherwise}. In
this folder:

```python
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForCausalLM.from_pretrained(".", dtype=torch.{dtype})


def complete(module, prompt, max_new_tokens=64, stop=("\\n",)):
{complete}
`esagent train model=<this folder>` trains it further.
"""

_HOOKS = """\
`agent.py` adds what was trained to a stock transformers model by forward hooks; it needs torch, transformers and
safetensors and nothing else. In this folder:

```python
from agent import Agent

agent = Agent()  # base="..." for a base model that lies elsewhere, device="cuda", dtype=torch.bfloat16


def complete(module, prompt, max_new_tokens=64, stop=("\\n",)):
    return agent.complete(module, prompt, max_new_tokens=max_new_tokens, stop=stop)
```

Anything else that calls the model, sampling or a batch (padded on the left), goes the same way:

```python
inputs = agent.tokenizer({example!r}, add_special_tokens=False, return_tensors="pt")
with agent.acting({first!r}, prompt_length=inputs["input_ids"].shape[1]):
    output = agent.model.generate(input_ids=inputs["input_ids"], do_sample=True, max_new_tokens=16)
```
"""


def page(facts: Mapping[str, Any]) -> str:
    """The text of README.md for what export.json says (`esagent.runs.export.export.describe`)."""
    base, trained = facts["base"], facts["trained_modules"]
    untrained = [module for module in facts["modules"] if module not in trained]
    only = facts["positions"] == "answer"
    template = {"peft": _PEFT, "hf": _HF, "hooks": _HOOKS}[facts["format"]]
    moved = facts["space"]["name"] in WEIGHT_SPACES
    loading = template.format(
        dtype=facts["run_dtype"] if moved else "float32",
        otherwise="is not the one they were evaluated in" if moved else "rounds them",
        source=base["source"],
        keyword=f", revision={base['revision']!r}" if base["revision"] else "",
        first=trained[0],
        rest=tuple(trained[1:]),
        complete=_COMPLETE,
        others=(_PEFT_VECTORS if facts["space"]["name"] == "bias" else "") + (_PEFT_OTHERS if untrained else ""),
        example="Question: what is 2 + 3?\nAnswer:",
    )
    head = _HEAD.format(
        base_name=base["name"],
        source=base["source"],
        revision=f" at revision `{base['revision']}`" if base["revision"] else "",
        sha256=base["sha256"],
        modules=", ".join(facts["modules"]),
        trained=", ".join(trained),
        positions="; what was trained acts from the last token of the prompt on" if only else "",
        loading=loading.strip(),
        **{name: facts[name] for name in ("state", "run", "digest", "format")},
    )
    own = facts["agent"]["target"]
    prompts = _OWN.format(target=own) if own else _RAW if facts["prompt_style"] == "raw" else _CHAT
    return head + _PROMPTS.format(prompts=prompts)
