"""Backend `hf`: a transformers model that answers the whole population in one batch."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import torch

from esagent.backends.base import Applied
from esagent.backends.hf.check import check_fixed
from esagent.backends.hf.choose import Ending
from esagent.backends.hf.cpu import keep_freed_memory, pack_linears
from esagent.backends.hf.drafts import Drafts
from esagent.backends.hf.engine import Engine
from esagent.backends.hf.jobs import Job, Meter, Outcome, Tokens
from esagent.backends.hf.network import Network
from esagent.backends.hf.passes import Passes
from esagent.backends.hf.prefixes import Prefixes
from esagent.backends.hf.prompts import PromptStates
from esagent.backends.hf.slots import Hooks, Slots
from esagent.config.schema import BackendConfig
from esagent.core.episode import Completion, Cost, Request
from esagent.core.population import Block, Perturbation, Update
from esagent.errors import RunError
from esagent.models.chat import render
from esagent.spaces.base import Space
from esagent.spaces.tensors import Setting
from esagent.spaces.weights import Weights

_TOKENS_AT_ONCE = {"cpu": 1024, "cuda": 8192}  # beyond this a larger pass is no faster
_PASS_TOKENS = {"cpu": 32, "cuda": 512}  # what a pass costs, reading the weights above all, beside its tokens
_STATES = 1 << 30  # bytes of prompt states kept at most
_ROWS_AT_ONCE = {"cpu": 256, "cuda": 4096}


class HFBackend:
    """Holds the model and the searched parameters of `space`, which are beside the model or the model's own."""

    def __init__(self, model: Any, tokenizer: Any, space: Space, config: BackendConfig) -> None:
        self.space = space
        self.together = 1 if space.in_place else None
        self._weights = space.parameters if isinstance(space.parameters, Weights) else None
        self._config = config
        self._tokenizer = tokenizer
        self._network = Network(model, config.deterministic)
        self.meter = Meter()
        kind = self._network.device.type
        if kind == "cpu":
            keep_freed_memory()
            packed = pack_linears(model)
            if self._weights:
                self._weights.watchers.append(packed.refresh)
        self._max_tokens = _TOKENS_AT_ONCE[kind]
        self._max_rows = config.max_batch_rows or _ROWS_AT_ONCE[kind]
        sites = {site.path: site.module for site in space.sites}
        self._hooks = Hooks(sites)
        low = space.lowest_layer if config.share_trunk else 0
        self._low = low
        only = space.answers_only
        passes = Passes(self._network, self._hooks)
        self._prefixes = Prefixes(self._network, passes, low, only, space.in_place, self.meter, self._max_tokens)
        self._ending = Ending(tokenizer, _end_tokens(model, tokenizer))
        drafts = Drafts(config.draft, _PASS_TOKENS[kind])
        states = PromptStates(min(_STATES, _free_memory(self._network.device) // 16))
        self._engine = Engine(
            self._network, passes, self._prefixes, self._ending, drafts, states, low, only, self.meter, self._max_tokens
        )
        if config.deterministic:
            self._check_fixed(passes)
        self._alone: dict[Any, int] = {}
        self._numbers = itertools.count(1)
        self._encoded: dict[str, Tokens] = {}
        self._cost = Cost()

    @torch.inference_mode()
    def _check_fixed(self, passes: Passes) -> None:
        """Under parameters off the centre, which is zero at first and would hide the terms."""
        blocks = self.space.parameters.blocks()
        probe = Perturbation(0, 1, {block.name: 1.0 for block in blocks})
        module = self.space.parameters.tensors[0].owner
        self._hooks.use(self.space.terms([None, Setting(module, probe)]))
        check_fixed(self._network, passes, self.space.lowest_layer, 1)

    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the space's partition."""
        return self.space.parameters.blocks()

    @torch.inference_mode()
    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        """Answer all requests, in order; identical ones once."""
        started = time.perf_counter()
        self._alone.clear()
        slots = Slots(self.space, members)
        jobs: dict[Any, Job] = {}
        keys: list[Any] = []
        for number, request in enumerate(requests):
            job = self._job(request, slots)
            key = job if self._config.share_requests else number
            jobs.setdefault(key, job)
            keys.append(key)
        self._hooks.use(self.space.terms(slots.settings))
        before = self.meter.prompt_tokens
        outcomes: dict[Any, Any] = {}
        for group in self._groups(jobs):
            if self._weights and self.space.in_place:
                setting = slots.settings[jobs[group[0]].slot]
                self._weights.show(setting.perturbation if setting else None)
            outcomes.update(zip(group, self._run([jobs[key] for key in group]), strict=True))
        completions, seen = [], set()
        prompt = completion = computed = 0
        for key in keys:
            job, outcome = jobs[key], outcomes[key]
            again = key in seen
            seen.add(key)
            completions.append(
                Completion(
                    outcome.text,
                    outcome.reason,
                    len(job.prefix) + len(job.prompt),
                    len(outcome.tokens),
                    again,
                )
            )
            prompt += len(job.prefix) + len(job.prompt)
            completion += len(outcome.tokens)
            computed += 0 if again else 1 + len(outcome.tokens)  # a prompt's last token is read with the answer
        computed += self.meter.prompt_tokens - before
        shared = max(0, prompt + completion - computed)  # below 0 where work was lost to a lack of memory
        seconds = time.perf_counter() - started
        self._cost = self._cost + Cost(prompt, completion, shared, len(requests), 0.0, seconds)
        return completions

    def _groups(self, jobs: Mapping[Any, Job]) -> list[list[Any]]:
        """Keys of the jobs that one batch may answer: all, or those under the same parameters."""
        groups: dict[int, list[Any]] = {}
        for key, job in jobs.items():
            groups.setdefault(job.slot if self.space.in_place else 0, []).append(key)
        return list(groups.values())

    def _job(self, request: Request, slots: Slots) -> Job:
        slot = slots.of(request)
        prefix_text, prompt_text = render(self._tokenizer, request)
        prefix, prompt = self._encode(prefix_text), self._encode(prompt_text)
        if not prefix + prompt:
            raise RunError(f"module {request.module}: an empty prompt cannot be completed")
        alone = 0
        if not prompt or (not self._config.share_prefix and not self._config.deterministic):
            prefix, prompt = (), prefix + prompt
        elif not self._config.share_prefix:
            # A sum taken in two parts differs in its last bits from the whole, so the parts stay what they are.
            alone = self._alone.setdefault((prefix, prompt), next(self._numbers))
        choices = tuple(self._encode(c) for c in request.choices)
        # A choice that another one continues needs an end of its own.
        end = self._encode("\n")
        choices = tuple(c + end if any(o != c and o[: len(c)] == c for o in choices) else c for c in choices)
        return Job(
            slot,
            slots.keys[slot],
            prefix,
            prompt,
            request.max_new_tokens,
            request.stop,
            choices,
            request.temperature,
            request.seed if request.temperature > 0 else 0,
            alone,
        )

    def _encode(self, text: str) -> Tokens:
        if text not in self._encoded:
            self._encoded[text] = tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])
        return self._encoded[text]

    def _run(self, jobs: list[Job]) -> list[Outcome]:
        """All jobs to their end, in batches of bounded size; neighbours share most."""
        self._prefixes.prepare(jobs)
        order = sorted(range(len(jobs)), key=lambda i: (jobs[i].prefix, jobs[i].prompt, jobs[i].slot))
        outcomes: dict[int, Outcome] = {}
        while len(outcomes) < len(order):
            part = order[len(outcomes) : len(outcomes) + self._max_rows]
            part = part[: self._fitting([jobs[i] for i in part])]
            try:
                outcomes.update(zip(part, self._engine.complete([jobs[i] for i in part]), strict=True))
            except (torch.OutOfMemoryError, RuntimeError) as error:
                self._shrink(error, len(part))
        return [outcomes[i] for i in range(len(jobs))]

    def _fitting(self, jobs: Sequence[Job]) -> int:
        """How many of the next jobs fit one batch: what they keep takes a quarter of the free memory at most."""
        net = self._network
        per_slot = 2 * net.depth * net.kv_heads * net.head_dim * net.dtype.itemsize
        room = _free_memory(net.device) // 4
        memory = 0
        kept: set[Any] = set()
        for count, job in enumerate(jobs):
            name = (job.prefix, job.prompt, None if self.space.answers_only else job.slot)
            memory += (job.max_new + 1 + (0 if name in kept else len(job.prompt))) * per_slot
            kept.add(name)
            if count and memory > room:
                return count
        return len(jobs)

    def _shrink(self, error: Exception, rows: int) -> None:
        """After running out of memory: half the rows next time. Any other error goes on up."""
        text = str(error)
        if not isinstance(error, torch.OutOfMemoryError) and "alloc" not in text and "memory" not in text:
            raise error
        if rows <= 1:
            raise RunError(f"out of memory with a single row: {text.splitlines()[0]}") from error
        self._max_rows = max(1, rows // 2)
        gc.collect()
        if self._network.device.type == "cuda":
            torch.cuda.empty_cache()

    def apply(self, update: Update) -> Applied:
        """Move the centre; every prefix computed under the old one is dropped."""
        applied = self.space.parameters.apply(update)
        self._prefixes.forget()
        return applied

    def digest(self) -> str:
        """Checksum of the searched parameters and the optimiser state."""
        return self.space.parameters.digest()

    def save(self, path: Path) -> None:
        """Write the searched parameters as safetensors."""
        self.space.parameters.save(path)

    def load(self, path: Path) -> None:
        """Read what `save` wrote."""
        self.space.parameters.load(path)
        self._prefixes.forget()

    def forget_optimiser(self) -> None:
        """Keep the searched parameters and start the optimiser anew."""
        self.space.parameters.forget_optimiser()

    def cost(self) -> Cost:
        """Everything generated so far; FLOPs are those really done, 2 per parameter and token."""
        net, meter = self._network, self.meter
        flops = 2.0 * (
            net.layer_parameters * (meter.trunk_tokens * self._low + meter.upper_tokens * (net.depth - self._low))
            + net.head_parameters * meter.head_tokens
        )
        return replace(self._cost, flops=flops)


def _free_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return int(psutil.virtual_memory().available)


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every token that ends a text: the tokenizer's and the model's own list."""
    listed = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ids = listed if isinstance(listed, list) else [listed]
    return frozenset(i for i in [*ids, tokenizer.eos_token_id] if i is not None)
