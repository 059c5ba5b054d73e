"""Allocation schemes by name."""

from __future__ import annotations

from collections.abc import Callable

from esagent.allocation.argmax import Argmax
from esagent.allocation.base import Allocator
from esagent.allocation.ipw import Ipw
from esagent.allocation.joint import Joint
from esagent.allocation.misroute import Misroute
from esagent.allocation.oracle import Oracle
from esagent.allocation.plan import Wrap
from esagent.allocation.random import Random
from esagent.allocation.scheme import Scheme
from esagent.allocation.sigma import Sigma
from esagent.allocation.single import Single
from esagent.allocation.soft import Soft
from esagent.allocation.soft_sigma import SoftSigma
from esagent.allocation.starve import Starve
from esagent.allocation.uniform import Uniform
from esagent.config.nearest import suggest
from esagent.config.schema import AllocationConfig, CreditConfig, StepFollows
from esagent.errors import ConfigError

SCHEMES: dict[str, Callable[[AllocationConfig, CreditConfig], Scheme]] = {
    "uniform": lambda _, credit: Uniform(),
    "soft": lambda _, credit: Soft(credit.tau),
    "argmax": lambda _, credit: Argmax(),
    "sigma": lambda _, credit: Sigma(),
    "soft_sigma": lambda _, credit: SoftSigma(credit.tau),
    "ipw": lambda _, credit: Ipw(credit.tau, credit.clip),
    "misroute": lambda _, credit: Misroute(credit.tau),
    "random": lambda _, credit: Random(),
    "oracle": lambda _, credit: Oracle(),
    "starve": lambda allocation, _: Starve(allocation.starvation),
}
"""Those in which a direction perturbs one block."""

ALLOCATIONS = (*SCHEMES, "joint")


def make_allocator(config: AllocationConfig, credit: CreditConfig | None = None, seed: int = 0) -> Allocator:
    """The allocation that `config` describes, for a run of `seed`. Raises ConfigError for an unknown name."""
    if config.name == "joint":
        return Joint()
    return Single(
        make_scheme(config, credit or CreditConfig()),
        Wrap(config.wrap.value, config.phi),
        config.step_follows is StepFollows.sigma,
        config.bottleneck,
        seed,
    )


def make_scheme(config: AllocationConfig, credit: CreditConfig) -> Scheme:
    """The scheme that `config` names, any but `joint`. Raises ConfigError for an unknown name, with the nearest one."""
    if config.name not in SCHEMES:
        raise ConfigError(f"allocation.name={config.name!r} is not known; {suggest(config.name, ALLOCATIONS)}")
    return SCHEMES[config.name](config, credit)
