"""Runs the modules of an exported agent on a stock transformers model, by forward hooks.

Needs torch, transformers and safetensors, and lies beside what it reads:

    export.json             which base model, which modules, on which tokens they act
    <module>.safetensors    what the module adds to the outputs of some linear layers: a vector `<layer>/bias`, or
                            `<layer>/up` @ `<layer>/down` @ input

    agent = Agent()
    agent.complete("planner", prompt)                             greedy text
    with agent.acting("planner", prompt_length=ids.shape[1]):     anything else that calls the model
        agent.model.generate(ids, ...)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig


class Agent:
    """The base model, and the modules that can act on it one at a time. A module without a file is the base model.

    folder: the export; default: where this file lies. base: where the base model lies, default: as in export.json.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        base: str | None = None,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> None:
        folder = Path(folder) if folder else Path(__file__).parent
        self.facts = json.loads((folder / "export.json").read_text())
        source, revision = (base, None) if base else (self.facts["base"]["source"], self.facts["base"]["revision"])
        self.tokenizer: Any = AutoTokenizer.from_pretrained(source, revision=revision)
        self.model: Any = AutoModelForCausalLM.from_pretrained(source, revision=revision, dtype=dtype)
        self.model.to(device).eval()
        ends = self.model.generation_config.eos_token_id
        ends = {self.tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
        # In place of the model's own settings, some of which (a repetition penalty, say) change greedy answers.
        self.model.generation_config = GenerationConfig(
            do_sample=False, eos_token_id=sorted(ends) or None, pad_token_id=min(ends, default=0)
        )
        self._terms: dict[str, Mapping[str, Tensor]] = {}
        for module in self.facts["trained_modules"]:
            loaded = load_file(folder / f"{module}.safetensors")
            self._terms[module] = {name: tensor.to(device, dtype) for name, tensor in loaded.items()}
        self._active: Mapping[str, Tensor] = {}
        self._prompt_length = 0
        self._first = 0
        self.model.register_forward_pre_hook(self._locate, with_kwargs=True)
        for site in {name.rpartition("/")[0] for terms in self._terms.values() for name in terms}:
            self.model.get_submodule(site).register_forward_hook(partial(self._add, site))

    @contextmanager
    def acting(self, module: str, prompt_length: int) -> Iterator[None]:
        """Within: the model is `module`'s. prompt_length: tokens of the prompt, padding (on the left) included."""
        if module not in self.facts["modules"]:
            raise ValueError(f"no module {module!r}; there are {', '.join(self.facts['modules'])}")
        self._active, self._prompt_length = self._terms.get(module, {}), prompt_length
        try:
            yield
        finally:
            self._active = {}

    @torch.inference_mode()
    def complete(
        self, module: str, prompt: str, prefix: str = "", max_new_tokens: int = 64, stop: Sequence[str] = ("\n",)
    ) -> str:
        """The module's greedy answer up to the first stop text. prefix: read before the prompt, tokenised apart."""
        ids = [i for text in (prefix, prompt) for i in self.tokenizer(text, add_special_tokens=False)["input_ids"]]
        inputs = torch.tensor([ids], device=self.model.device)
        options: dict[str, Any] = {"stop_strings": list(stop), "tokenizer": self.tokenizer} if stop else {}
        with self.acting(module, len(ids)):
            output = self.model.generate(
                inputs, attention_mask=torch.ones_like(inputs), max_new_tokens=max_new_tokens, **options
            )
        text = self.tokenizer.decode(
            output[0, len(ids) :], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text[: min((text.find(s) for s in stop if s in text), default=len(text))]

    def _locate(self, _: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Before a pass: from which of its tokens on the module acts. Earlier tokens are in the cache."""
        if self.facts["positions"] == "answer":
            past = kwargs.get("past_key_values")
            seen = past.get_seq_length() if past is not None else 0
            self._first = max(0, self._prompt_length - 1 - seen)

    def _add(self, site: str, _: Any, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        """Hook of a linear layer. inputs, output: [rows, tokens, features]."""
        added = output.clone()
        acting = added[:, self._first :]
        if f"{site}/bias" in self._active:
            acting += self._active[f"{site}/bias"]
        if f"{site}/up" in self._active:
            down, up = self._active[f"{site}/down"], self._active[f"{site}/up"]
            acting += inputs[0][:, self._first :] @ down.T @ up.T
        return added
