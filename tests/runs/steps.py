"""A run in small: what the training loop does with the run directory, on the vector backend."""

from __future__ import annotations

from esagent.runs.codec import encode_update
from esagent.runs.directory import RunDirectory
from esagent.runs.identity import Identity
from esagent.runs.lock import locked
from esagent.runs.metrics import append_row
from esagent.runs.resume import recover
from esagent.runs.snapshots import prune, write_snapshot
from tests.runs.vector_backend import VectorBackend, update_of

STEPS = 6
START = Identity("0" * 64, VectorBackend().digest())


def work(run: RunDirectory, steps: int = STEPS, snapshot_every: int = 2) -> str:
    """Start or continue `run` up to `steps` steps; returns the final digest."""
    with locked(run):
        backend = VectorBackend()
        with recover(run, backend, START) as journal:
            for step in range(len(journal.records), steps):
                update = update_of(step)
                applied = backend.apply(update)
                append_row(run.metrics, {"kind": "step", "step": step, "reward_mean": step / 10})
                journal.append({"step": step, "update": encode_update(update), "digest": applied.digest})
                if (step + 1) % snapshot_every == 0:
                    write_snapshot(run.snapshots, step + 1, backend, START.seal)
                    prune(run.snapshots, last=2)
        return backend.digest()
