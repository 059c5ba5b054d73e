"""Where workers run: on GPUs of their own, here by name alone as Ray counts them, and in clusters large enough."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="backend=ray needs Ray")

from esagent.backends.ray import cluster
from esagent.backends.ray.make import gpus_each, inner_config
from esagent.config.compose import compose
from esagent.config.schema import BackendConfig
from esagent.errors import EnvironmentFailure

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]

SEEN = """
import json, os, ray
from esagent.backends.ray import cluster

ray.init(address="local", num_cpus=4, num_gpus=4, include_dashboard=False, log_to_driver=False, logging_level="error",
         object_store_memory=80 << 20, _temp_dir=os.environ["TMPDIR"])
cluster.require(ray.cluster_resources(), workers=2, cpus=2, gpus=2)
groups = [cluster.new_worker(2, 2) for _ in range(2)]
look = lambda worker: os.environ.get("CUDA_VISIBLE_DEVICES")
print(json.dumps(ray.get([group.__ray_call__.remote(look) for group in groups])))
"""


def python(folder: Path, text: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, check=True, stdout=subprocess.PIPE, timeout=200
    )
    return done.stdout.decode()


def test_every_worker_has_a_group_of_gpus_of_its_own() -> None:
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        seen = json.loads(python(Path(folder), SEEN))
    assert sorted(int(gpu) for group in seen for gpu in group.split(",")) == [0, 1, 2, 3]
    assert [len(group.split(",")) for group in seen] == [2, 2]


@pytest.mark.parametrize(
    ("settings", "there", "gpus"),
    [
        ({}, 0, 0),
        ({}, 8, 1),
        ({"device": "cuda"}, 0, 1),
        ({"device": "cuda", "gpus": 4}, 8, 4),
        ({"device": "cpu"}, 8, 0),
        ({"inner": "synthetic"}, 8, 0),
    ],
)
def test_a_worker_gets_one_gpu_where_there_are_any_unless_told_otherwise(
    settings: dict[str, object], there: int, gpus: int
) -> None:
    backend = BackendConfig(name="ray", **settings)  # type: ignore[arg-type]
    assert gpus_each(backend, {"GPU": there, "CPU": 4}) == gpus


def test_a_worker_counts_its_own_gpus_from_0_and_knows_its_threads() -> None:
    config = compose(["backend=ray", "backend.device=cuda"])
    inner = inner_config(config, threads=3, gpus=1).backend
    assert (inner.name, inner.device, inner.threads) == ("hf", "cuda", 3)
    assert inner_config(config, threads=3, gpus=0).backend.device == "cpu"


def test_a_cluster_that_is_too_small_is_refused() -> None:
    cluster.require({"CPU": 8.0, "GPU": 8.0}, workers=4, cpus=2, gpus=2)
    with pytest.raises(EnvironmentFailure, match=r"backend.workers=4 with backend.gpus=2 needs 8 GPUs; .* has 4"):
        cluster.require({"CPU": 8.0, "GPU": 4.0}, workers=4, cpus=2, gpus=2)
    with pytest.raises(EnvironmentFailure, match=r"backend.threads=4 needs 16 CPUs"):
        cluster.require({"CPU": 8.0}, workers=4, cpus=4, gpus=0)
