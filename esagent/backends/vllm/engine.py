"""The vLLM engine under the jobs of backend hf: it completes them in one batch of vLLM's scheduler."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from esagent.backends.hf.choose import NONFINITE, Ending
from esagent.backends.hf.jobs import Job, Meter, Outcome, SlotKey
from esagent.backends.hf.slots import Slots
from esagent.backends.vllm.adapters import IN_MEMORY, Factors
from esagent.backends.vllm.asked import KEY
from esagent.backends.vllm.options import APART
from esagent.backends.vllm.ways import Way, factors_of, vectors_of
from esagent.core.population import Perturbation
from esagent.errors import RunError
from esagent.spaces.base import Space
from esagent.spaces.weights import Weights

_KEPT = 4096  # versions between two updates: a search for sigma makes many


@dataclass(frozen=True)
class Shadow:
    """The model as transformers holds it, on the CPU: what names, sizes and centre of the search live in."""

    model: Any
    device: torch.device
    dtype: torch.dtype
    depth: int


def call(llm: Any, method: str, *arguments: Any) -> list[Any]:
    """Call a method of every worker's station; what each of them returns.

    An engine in this process is handed the objects themselves. One in another gets them pickled: vLLM's own messages
    would make dictionaries of them.
    """
    if llm.llm_engine.vllm_config.additional_config.get(APART):
        return list(llm.collective_rpc("esagent_pickled", args=(pickle.dumps((method, arguments)),)))
    return list(llm.collective_rpc("esagent", args=(method, *arguments)))


class VllmEngine:
    """Completes jobs. llm: a `vllm.LLM` whose workers are ready for `space`. ends: tokens that end a text."""

    def __init__(
        self, llm: Any, model: Any, space: Space, way: Way, ending: Ending, ends: frozenset[int], meter: Meter
    ) -> None:
        self._llm = llm
        self._space = space
        self._way = way
        self._ending = ending
        self._ends = sorted(ends)
        self._meter = meter
        weight = model.get_input_embeddings().weight
        self._shadow = Shadow(model, weight.device, weight.dtype, len(model.model.layers))
        self._numbers = itertools.count(1)
        self._versions: dict[SlotKey, int] = {}
        self._of_slot: list[int] = [0]
        self._state = 0  # of the weights: goes up whenever other ones stand in the model
        self._shown: Perturbation | None = None
        self._params = sum(parameter.numel() for parameter in model.parameters())
        if isinstance(space.parameters, Weights):
            self._move()

    @property
    def network(self) -> Shadow:
        """The model as transformers holds it."""
        return self._shadow

    def rpc(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every worker's station; what each of them returns."""
        return call(self._llm, method, *arguments)

    def use(self, slots: Slots) -> None:
        """Make the versions that the slots of a call run under, those that are not there yet."""
        if len(self._versions) + len(slots.keys) > _KEPT:
            self._forget_versions()
        self._of_slot = [0] * len(slots.keys)
        new: dict[int, Any] = {}
        for slot, (key, setting) in enumerate(zip(slots.keys, slots.settings, strict=True)):
            if setting is None or self._way is Way.written:
                continue
            if key not in self._versions:
                made: Factors | dict[str, Any]
                if self._way is Way.vectors:
                    made = vectors_of(self._space, setting.module, setting.perturbation)
                else:
                    made = factors_of(self._space, setting)
                # Nothing to add is the base model itself.
                self._versions[key] = next(self._numbers) if made else 0
                if made:
                    new[self._versions[key]] = made
            self._of_slot[slot] = self._versions[key]
        if new:
            self.rpc("add_vectors" if self._way is Way.vectors else "add", new)

    def prepare(self, jobs: Sequence[Job]) -> None:
        """vLLM finds common prefixes by itself."""

    def fitting(self, jobs: Sequence[Job], room: int) -> int:
        """All: vLLM schedules what fits."""
        return len(jobs)

    def complete(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Run jobs to their end."""
        found = self._ask(jobs, self._completing)
        return [self._outcome(job, output.outputs[0]) for job, output in zip(jobs, found, strict=True)]

    def likelihoods(self, jobs: Sequence[Job]) -> list[float]:
        """Mean log-likelihood per token of each job's `answer`, in nats."""
        return [sum(found) / len(found) for found in self.log_probabilities(jobs)]

    def log_probabilities(self, jobs: Sequence[Job]) -> list[list[float]]:
        """Of each token of each job's `answer`, teacher-forced, in nats."""
        found = []
        for job, output in zip(jobs, self._ask(jobs, self._scoring), strict=True):
            rows = output.prompt_logprobs[-len(job.answer) :]
            found.append([row[token].logprob for row, token in zip(rows, job.answer, strict=True)])
        return found

    def show(self, member: Perturbation | None) -> None:
        """Where members are written into the weights: make one of them, or the centre."""
        if member != self._shown:
            self.rpc("show", member)
            self._shown = member
            self._changed()

    def forget(self) -> None:
        """The centre moved: hand the new one on, and let nothing answer for the old one."""
        self._forget_versions()
        if isinstance(self._space.parameters, Weights):
            self._move()
        elif not self._space.answers_only:  # where prompts stay the base model's
            self._reset()

    def _forget_versions(self) -> None:
        self.rpc("forget")
        self._versions.clear()

    def flops(self) -> float:
        """2 per weight and token."""
        return 2.0 * self._params * self._meter.upper_tokens

    def _move(self) -> None:
        self.rpc("move", self._space.parameters.centre)
        self._shown = None
        self._changed()

    def _changed(self) -> None:
        self._state += 1
        self._reset()

    def _reset(self) -> None:
        """Drop all states of prefixes. Raises RunError where vLLM keeps some."""
        if not self._llm.reset_prefix_cache():
            raise RunError("vLLM keeps prefixes that were computed under other weights; its answers would be stale")

    def _ask(self, jobs: Sequence[Job], params: Callable[[Job, dict[str, Any]], Any]) -> list[Any]:
        from vllm.lora.request import LoRARequest

        prompts, asked, adapters = [], [], []
        for job in jobs:
            tokens = [*job.prefix, *job.prompt]
            version = self._of_slot[job.slot]
            said: dict[str, Any] = {"version": version, "end": self._ends[0]}
            if self._space.answers_only:
                said["boundary"] = len(tokens) - 1
            prompt: dict[str, Any] = {"prompt_token_ids": [*tokens, *job.answer]}
            if salt := self._salt(version):
                prompt["cache_salt"] = salt
            prompts.append(prompt)
            asked.append(params(job, said))
            adapter = version if self._way is Way.adapters else 0
            adapters.append(LoRARequest(f"version-{version}", version, IN_MEMORY) if adapter else None)
        given = adapters if any(adapters) else None
        outputs = self._llm.generate(prompts, asked, lora_request=given, use_tqdm=False)
        for output in outputs:
            read = len(output.prompt_token_ids) - (output.num_cached_tokens or 0)
            self._meter.prompt_tokens += max(0, read - 1)
            self._meter.upper_tokens += read + max(0, len(output.outputs[0].token_ids) - 1)
        return list(outputs)

    def _salt(self, version: int) -> str:
        """What tells a request's prefixes from those of other parameters, beside the name of its adapter."""
        weights = f"state {self._state}" if isinstance(self._space.parameters, Weights) else ""
        vector = f"version {version}" if self._way is Way.vectors and not self._space.answers_only else ""
        return f"{weights}{vector}"

    def _completing(self, job: Job, said: dict[str, Any]) -> Any:
        from vllm import SamplingParams

        if job.choices:
            said["choices"] = [list(choice) for choice in job.choices]
        if job.temperature > 0:
            said |= {"temperature": job.temperature, "seed": job.seed}
        return SamplingParams(
            temperature=0.0,
            max_tokens=job.max_new,
            stop=list(job.stop) or None,
            stop_token_ids=self._ends,
            logprobs=0,
            extra_args={KEY: said},
        )

    def _scoring(self, job: Job, said: dict[str, Any]) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            temperature=0.0, max_tokens=1, prompt_logprobs=0, detokenize=False, extra_args={KEY: said}
        )

    def _outcome(self, job: Job, output: Any) -> Outcome:
        """Token by token, as backend hf decides what ends a text."""
        outcome = Outcome([])
        for token, row in zip(output.token_ids, output.logprobs, strict=True):
            outcome.tokens.append(token if math.isfinite(row[token].logprob) else NONFINITE)
            if self._ending.update(job, outcome):
                break
        else:
            outcome.reason, outcome.text = "stop", output.text
        return outcome
