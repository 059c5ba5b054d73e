"""What `sigma=auto` runs before the first step."""

from __future__ import annotations

from esagent.config.schema import Config, Per


def calibration_episodes(config: Config, blocks: int) -> int:
    """The centre, and each block's members where it is tried by itself, or those of all, where outputs are valid."""
    sigma = config.sigma
    if not sigma.auto:
        return 0
    members = 0
    if sigma.per is Per.block:
        members += 1 + 2 * sigma.probes * blocks
    if sigma.per is Per.all or (config.allocation.name == "joint" and blocks > 1):
        members += 1 + 2 * max(sigma.probes, blocks)
    return sigma.tasks * (1 + members)
