"""Backend `vllm`: the same requests, members and updates as backend `hf`, answered by vLLM.

The model as transformers holds it stays beside it, on the CPU: in it lie the names, the sizes and the centre of the
search, so that updates, digests and snapshots are those of backend hf, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from esagent.backends.hf.backend import HFBackend, end_tokens
from esagent.backends.hf.engines import Engine
from esagent.backends.hf.jobs import Job
from esagent.backends.hf.slots import Slots
from esagent.backends.vllm.engine import VllmEngine
from esagent.backends.vllm.proof import log_probabilities, prove
from esagent.backends.vllm.start import connect, start
from esagent.backends.vllm.ways import Way, way_of
from esagent.config.schema import BackendConfig
from esagent.core.episode import UNPERTURBED, Request
from esagent.core.population import Perturbation
from esagent.spaces.base import Space
from esagent.spaces.named import find_parameters
from esagent.spaces.tensors import Setting
from esagent.spaces.weights import Weights

_ALL = 1 << 30  # vLLM schedules by itself what of a batch fits


class VLLMBackend(HFBackend):
    """Holds the model of `folder` twice: in vLLM, which answers, and as `model`, which the search lies over.

    on_cpu: whether vLLM computes there. Raises EnvironmentFailure where vLLM does not start or reach what is searched.
    """

    def __init__(
        self, folder: Path, model: Any, tokenizer: Any, space: Space, config: BackendConfig, on_cpu: bool
    ) -> None:
        self._folder = folder
        self._on_cpu = on_cpu
        self._way = way_of(space)
        super().__init__(model, tokenizer, space, config)
        self._max_rows = _ALL
        self.prove()

    def _start(self, model: Any) -> Engine:
        self.one_by_one = self._way is Way.written
        self.together = 1 if self.one_by_one else None
        dtype = str(model.dtype).removeprefix("torch.")
        engine = self._config.engine
        llm = start(engine, self._folder, dtype, self._context, self.space, self._way, self._on_cpu)
        # What vLLM was told of the context bounds prompts here too.
        self._context = min(self._context or _ALL, engine.max_model_len or _ALL)
        names = {named.name: named for named in find_parameters(model)}
        connect(
            llm,
            self.space,
            self._way,
            {name: named.names for name, named in names.items()},
            {name: named.tensor.shape for name, named in names.items()},
        )
        ends = end_tokens(model, self._tokenizer)
        self._vllm = VllmEngine(llm, model, self.space, self._way, self._ending, ends, self.meter)
        return self._vllm

    def _use(self, slots: Slots) -> None:
        self._vllm.use(slots)

    def _show(self, perturbation: Perturbation | None) -> None:
        self._vllm.show(perturbation)

    def prove(self) -> None:
        """That all that is searched shows in the answers (see `proof`)."""
        blocks = [block.name for block in self.blocks()]
        prove(self._model_of().config.vocab_size, blocks, self._model_of().dtype, self._expected, self._found)

    def _model_of(self) -> Any:
        return self._network.model

    @torch.inference_mode()
    def _expected(self, tokens: Sequence[int], member: Perturbation | None) -> Tensor:
        """Log-probabilities of transformers."""
        model, owner = self._model_of(), self.space.parameters.tensors[0].owner
        ids = torch.tensor([list(tokens)])
        if isinstance(self._weights, Weights) and self.space.in_place:
            self._weights.show(member)
            logits = model(ids).logits[0]
            self._weights.show(None)
            return log_probabilities(logits, tokens)
        self._hooks.use(self.space.terms([None, Setting(owner, member)]))
        with self._hooks.tokens(torch.ones(len(tokens), dtype=torch.int64)):
            return log_probabilities(model(ids).logits[0], tokens)

    def _found(self, tokens: Sequence[int], member: Perturbation | None) -> Tensor:
        """Log-probabilities of vLLM, of a prompt of one token: all that follows runs under the member."""
        owner = self.space.parameters.tensors[0].owner
        slots = Slots(self.space, [member] if member else [])
        slot = slots.of(Request(owner, "", member=0 if member else UNPERTURBED))
        self._use(slots)
        if self.one_by_one:
            self._show(member)
        answer = tuple(tokens[1:])
        job = Job(slot, slots.keys[slot], (), tuple(tokens[:1]), len(answer), (), answer=answer)
        return torch.tensor(self._vllm.log_probabilities([job])[0], dtype=torch.float64)
