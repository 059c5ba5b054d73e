"""Backend `hf`: a transformers model that answers the whole population in one batch."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from esagent.backends.base import Applied
from esagent.backends.hf.choose import Ending
from esagent.backends.hf.cpu import keep_freed_memory, pack_linears
from esagent.backends.hf.engines import Engine, free_memory, make_engine
from esagent.backends.hf.jobs import Job, Meter, Outcome, Tokens
from esagent.backends.hf.slots import Hooks, Slots
from esagent.config.schema import BackendConfig
from esagent.core.episode import Completion, Cost, Request
from esagent.core.population import Block, Perturbation, Update
from esagent.errors import RunError
from esagent.models.chat import render
from esagent.models.context import context_length
from esagent.spaces.base import Space
from esagent.spaces.tensors import Setting
from esagent.spaces.weights import Weights

_ROWS_AT_ONCE = {"cpu": 256, "cuda": 4096}

_Result = TypeVar("_Result")


class HFBackend:
    """Holds the model and the searched parameters of `space`, which are beside the model or the model's own."""

    def __init__(self, model: Any, tokenizer: Any, space: Space, config: BackendConfig) -> None:
        self.space = space
        self.one_by_one = space.in_place
        self.together = 1 if self.one_by_one else None
        self._weights = space.parameters if isinstance(space.parameters, Weights) else None
        self._config = config
        self._tokenizer = tokenizer
        self.meter = Meter()
        self._context = context_length(model.config)
        kind = model.get_input_embeddings().weight.device.type
        self._max_rows = config.max_batch_rows or _ROWS_AT_ONCE[kind]
        self._hooks = Hooks({site.path: site.module for site in space.sites})
        self._ending = Ending(tokenizer, end_tokens(model, tokenizer))
        self._engine = self._start(model)
        self._network = self._engine.network
        self._alone: dict[Any, int] = {}
        self._numbers = itertools.count(1)
        self._encoded: dict[str, Tokens] = {}
        self._cost = Cost()

    def _start(self, model: Any) -> Engine:
        """The engine that completes the jobs."""
        if model.get_input_embeddings().weight.device.type == "cpu":
            keep_freed_memory()
            packed = pack_linears(model, self.space.in_place)
            if self._weights:
                self._weights.watchers.append(packed.refresh)
        return make_engine(model, self._hooks, self.space, self._ending, self._config, self.meter)

    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the space's partition."""
        return self.space.parameters.blocks()

    def reach(self, module: str) -> frozenset[str]:
        """The blocks that act in a request to `module`."""
        return self.space.parameters.reach(module)

    @torch.inference_mode()
    def generate(self, requests: Sequence[Request], members: Sequence[Perturbation]) -> list[Completion]:
        """Answer all requests, in order; identical ones once."""
        started, before = time.perf_counter(), self.meter.prompt_tokens
        jobs, keys, settings = self._prepare(requests, members)
        fitting = {key: job for key, job in jobs.items() if job.max_new > 0}
        outcomes = self._worked(fitting, settings, self._engine.complete)
        completions, seen = [], set()
        for request, key in zip(requests, keys, strict=True):
            completions.append(self._completion(request, jobs[key], outcomes.get(key), key in seen))
            seen.add(key)
        asked = [key for key in keys if key in fitting]
        self._pay(fitting, asked, {key: len(outcome.tokens) for key, outcome in outcomes.items()}, before, started)
        return completions

    def _completion(self, request: Request, job: Job, outcome: Outcome | None, again: bool) -> Completion:
        """outcome: None where the context has no room for an answer. again: it was paid for before."""
        length = len(job.prefix) + len(job.prompt)
        note = self._beyond(length, request.max_new_tokens)
        if outcome is None:
            return Completion("", "context", note=note)
        reason = outcome.reason or "length"
        if reason == "length" and note:
            return Completion(outcome.text, "context", length, len(outcome.tokens), again, note)
        return Completion(outcome.text, reason, length, len(outcome.tokens), again)

    @torch.inference_mode()
    def score(self, requests: Sequence[Request], texts: Sequence[str], members: Sequence[Perturbation]) -> list[float]:
        """Mean log-likelihood per token of each text, teacher-forced, identical ones once; see `Backend.score`."""
        started, before = time.perf_counter(), self.meter.prompt_tokens
        jobs, keys, settings = self._prepare(requests, members, texts)
        found = self._worked(jobs, settings, self._engine.likelihoods)
        self._pay(jobs, keys, {key: len(job.answer) for key, job in jobs.items()}, before, started)
        return [found[key] for key in keys]

    def _prepare(
        self, requests: Sequence[Request], members: Sequence[Perturbation], texts: Sequence[str] | None = None
    ) -> tuple[dict[Any, Job], list[Any], Sequence[Setting | None]]:
        """The distinct jobs by key, the key of each request, and the parameters of each slot.

        texts: of each request the answer that is to be scored.
        """
        self._alone.clear()
        slots = Slots(self.space, members)
        jobs: dict[Any, Job] = {}
        keys: list[Any] = []
        for number, request in enumerate(requests):
            job = self._job(request, slots)
            if texts is not None:
                answer = self._answer(request, texts[number])
                if beyond := self._beyond(len(job.prefix) + len(job.prompt), len(answer)):
                    raise RunError(f"module {request.module}: {beyond}")
                job = replace(job, max_new=len(answer), stop=(), choices=(), temperature=0.0, seed=0, answer=answer)
            key = job if self._config.share_requests else number
            jobs.setdefault(key, job)
            keys.append(key)
        self._use(slots)
        return jobs, keys, slots.settings

    def _use(self, slots: Slots) -> None:
        """The parameters of the slots of the call in progress."""
        self._hooks.use(self.space.terms(slots.settings))

    def _show(self, perturbation: Perturbation | None) -> None:
        """Where members are made one after the other: make one of them, or the centre."""
        if self._weights:
            self._weights.show(perturbation)

    def overflow(self, request: Request, text: str) -> str:
        """Why `request` with `text` for an answer is longer than the model's context, in words; "" where it fits."""
        prefix, prompt = self._question(request)
        return self._beyond(len(prefix) + len(prompt), len(self._answer(request, text)))

    def _beyond(self, prompt: int, answer: int) -> str:
        """The same by tokens."""
        if self._context is None or prompt + answer <= self._context:
            return ""
        return f"a prompt of {prompt} tokens and {answer} for the answer exceed the model's context of {self._context}"

    def _answer(self, request: Request, text: str) -> Tokens:
        """`text` with its end, if it does not have one: what stops the request, or the end of the text.

        A closed question needs none.
        """
        if request.choices or any(stop in text for stop in request.stop):
            tokens = self._encode(text)
        elif request.stop:
            tokens = self._encode(text + request.stop[0])
        else:
            tokens = (*self._encode(text), self._tokenizer.eos_token_id)
        if not tokens:
            raise RunError(f"module {request.module}: an empty text has no likelihood")
        return tokens

    def _pay(
        self, jobs: Mapping[Any, Job], keys: Sequence[Any], answers: Mapping[Any, int], before: int, started: float
    ) -> None:
        """Count a call that began at `started`. answers: tokens of each job's; before: tokens of prompts until then."""
        prompt = sum(len(jobs[key].prefix) + len(jobs[key].prompt) for key in keys)
        completion = sum(answers[key] for key in keys)
        computed = sum(1 + count for count in answers.values())  # a prompt's last token is read with the answer
        computed += self.meter.prompt_tokens - before
        shared = max(0, prompt + completion - computed)  # below 0 where work was lost to a lack of memory
        self._cost += Cost(prompt, completion, shared, len(keys), 0.0, time.perf_counter() - started)

    def _worked(
        self,
        jobs: Mapping[Any, Job],
        settings: Sequence[Setting | None],
        work: Callable[[Sequence[Job]], list[_Result]],
    ) -> dict[Any, _Result]:
        """What `work` makes of each job, by key, under its parameters."""
        done: dict[Any, _Result] = {}
        for group in self._groups(jobs):
            if self.one_by_one:
                setting = settings[jobs[group[0]].slot]
                self._show(setting.perturbation if setting else None)
            done.update(zip(group, self._run([jobs[key] for key in group], work), strict=True))
        return done

    def _groups(self, jobs: Mapping[Any, Job]) -> list[list[Any]]:
        """Keys of the jobs that one batch may answer: all, or those under the same parameters."""
        groups: dict[int, list[Any]] = {}
        for key, job in jobs.items():
            groups.setdefault(job.slot if self.one_by_one else 0, []).append(key)
        return list(groups.values())

    def _job(self, request: Request, slots: Slots) -> Job:
        slot = slots.of(request)
        prefix, prompt = self._question(request)
        room = request.max_new_tokens if self._context is None else self._context - len(prefix) - len(prompt)
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
            min(request.max_new_tokens, room),
            request.stop,
            choices,
            request.temperature,
            request.seed if request.temperature > 0 else 0,
            alone,
        )

    def _question(self, request: Request) -> tuple[Tokens, Tokens]:
        """Its prefix and its prompt. Raises RunError for nothing at all, and for a prefix that fills the context."""
        prefix_text, prompt_text = render(self._tokenizer, request)
        prefix, prompt = self._encode(prefix_text), self._encode(prompt_text)
        if not prefix + prompt:
            raise RunError(f"module {request.module}: an empty prompt cannot be completed")
        if self._context is not None and len(prefix) >= self._context:
            raise RunError(
                f"module {request.module}: its few-shot text alone is {len(prefix)} tokens, and the model's context is "
                f"{self._context}; shorten it (agent.prompts) or choose another model"
            )
        return prefix, prompt

    def _encode(self, text: str) -> Tokens:
        if text not in self._encoded:
            # verbose: a text beyond the context is told of once, and not by the library.
            tokens = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            self._encoded[text] = tuple(tokens)
        return self._encoded[text]

    def _run(self, jobs: list[Job], work: Callable[[Sequence[Job]], list[_Result]]) -> list[_Result]:
        """What `work` makes of all jobs, in batches of bounded size; neighbours share most."""
        self._engine.prepare(jobs)
        order = sorted(range(len(jobs)), key=lambda i: (jobs[i].prefix, jobs[i].prompt, jobs[i].slot))
        outcomes: dict[int, _Result] = {}
        while len(outcomes) < len(order):
            part = order[len(outcomes) : len(outcomes) + self._max_rows]
            # What a batch keeps takes a quarter of the free memory at most.
            part = part[: self._engine.fitting([jobs[i] for i in part], free_memory(self._network.device) // 4)]
            try:
                outcomes.update(zip(part, work([jobs[i] for i in part]), strict=True))
            except (torch.OutOfMemoryError, RuntimeError) as error:
                self._shrink(error, len(part))
        return [outcomes[i] for i in range(len(jobs))]

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
        self._engine.forget()
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
        self._engine.forget()

    def displacement(self, start: Path) -> dict[str, float]:
        """RMS distance of the searched parameters per block from those saved in `start`, in units of its scale."""
        return self.space.parameters.displacement(start)

    def forget_optimiser(self) -> None:
        """Keep the searched parameters and start the optimiser anew."""
        self.space.parameters.forget_optimiser()

    def cost(self) -> Cost:
        """Everything generated so far; FLOPs are those really done, 2 per parameter and token."""
        return replace(self._cost, flops=self._engine.flops())


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every token that ends a text: the tokenizer's and the model's own list."""
    listed = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ids = listed if isinstance(listed, list) else [listed]
    return frozenset(i for i in [*ids, tokenizer.eos_token_id] if i is not None)
