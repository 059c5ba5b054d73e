"""Write requirements.lock: the exact version of everything that esagent and its development tools need.

    python .ci/lock.py > requirements.lock        (what `make lock` does)

pip resolves the newest versions that fit pyproject.toml. Left out are torch's CUDA packages, which pip takes from
torch's own exact pins on machines whose torch has them, and the +cpu or +cu suffix of torch itself, so that one file
serves every machine. A package that only some supported environments need gets their marker.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = (("linux", "Linux"), ("darwin", "Darwin"))  # sys_platform, platform_system
TORCH_BRINGS = ("nvidia-", "cuda-", "triton")


def main() -> int:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    wanted = [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["dev"]]
    resolved = resolve([str(requirement) for requirement in wanted])
    needed: dict[str, list[dict[str, str]]] = {}
    environments = [
        {"python_version": python, "sys_platform": platform, "platform_system": system}
        for python in PYTHONS
        for platform, system in SYSTEMS
    ]
    for environment in environments:
        for name in walk(wanted, resolved, environment):
            needed.setdefault(name, []).append(environment)
    print("# Made by `make lock` from pyproject.toml. Install with `make setup`; do not edit.")
    for name in sorted(needed):
        if name.startswith(TORCH_BRINGS):
            continue
        if name not in resolved:
            print(f"{name} is needed in {needed[name]} but was not resolved here", file=sys.stderr)
            return 1
        print(f"{name}=={Version(resolved[name]['version']).public}{marker(needed[name], environments)}")
    return 0


def resolve(requirements: list[str]) -> dict[str, dict]:
    """The metadata of every package that a fresh installation of `requirements` would bring, by name."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    report = subprocess.run([*command, *requirements], check=True, stdout=subprocess.PIPE).stdout
    metadata = [item["metadata"] for item in json.loads(report)["install"]]
    return {canonicalize_name(package["name"]): package for package in metadata}


def walk(wanted: list[Requirement], resolved: dict[str, dict], environment: dict[str, str]) -> set[str]:
    """Names of all packages that `wanted` needs in `environment`."""
    seen: set[tuple[str, str]] = set()
    queue = [(requirement, "") for requirement in wanted]
    while queue:
        requirement, extra = queue.pop()
        if requirement.marker and not requirement.marker.evaluate({**environment, "extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for inner in ("", *sorted(requirement.extras)):
            if (name, inner) not in seen:
                seen.add((name, inner))
                queue += [(Requirement(line), inner) for line in resolved.get(name, {}).get("requires_dist", [])]
    return {name for name, _ in seen}


def marker(needing: list[dict[str, str]], environments: list[dict[str, str]]) -> str:
    if len(needing) == len(environments):
        return ""
    clauses = [f"python_version == '{e['python_version']}' and sys_platform == '{e['sys_platform']}'" for e in needing]
    return " ; " + " or ".join(clauses)


if __name__ == "__main__":
    sys.exit(main())
