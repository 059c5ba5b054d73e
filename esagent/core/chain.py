"""A chain of modules with known skills: what happens to a task, in closed form (docs/synthetic.md).

Module m does a task right when the task's difficulty for it, uniform on [0, 1), lies below its skill

    p_m(theta) = c_m exp(-|theta - theta*_m|^2 / (2 w_m^2)),

c_m being the ceiling and w_m the width. An episode passes the modules in order and breaks at the first that fails; with
the first k of M modules right it earns

    r_k = g k/M  for k < M,    r_M = 1,

g (`graded`) being what a part of the way is worth. All functions are pure and work along the last axes, so that one run
and many at once are computed by the same operations on the same numbers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOKENS = 1
"""What a prompt counts in budgets, and what an answer does."""


def skill(squared: Floats, ceiling: Floats | float, width: Floats | float) -> Floats:
    """p = c exp(-s / (2 w^2)) for squared distances s of any shape."""
    return ceiling * np.exp(-squared / (2.0 * np.square(width)))


def start_distance(start: float, ceiling: float, width: float) -> float:
    """|theta*| that gives a module at theta = 0 the skill `start`: w sqrt(2 log(c / start)).

    Raises ValueError unless 0 < start <= ceiling <= 1 and width > 0.
    """
    if not (0.0 < start <= ceiling <= 1.0 and width > 0.0):
        raise ValueError(f"a skill needs 0 < start <= ceiling <= 1 and width > 0, not {start}, {ceiling}, {width}")
    return width * math.sqrt(2.0 * math.log(ceiling / start))


def squared_distance(theta: NDArray[np.float32], optimum: Floats) -> Floats:
    """|theta - theta*|^2 over the last axis: theta [..., d] (fp32, contiguous), optimum [d]; in fp64: [...]."""
    return np.square(theta - optimum).sum(axis=-1)


def passed(skills: Floats, difficulty: Floats) -> NDArray[np.int64]:
    """Modules that do a task right before the first that fails: skills [..., M], difficulty [..., T, M]: [..., T].

    The leading axes of both broadcast.
    """
    right = difficulty < skills[..., None, :]
    return np.logical_and.accumulate(right, axis=-1).sum(axis=-1)


def reward_table(modules: int, graded: float) -> Floats:
    """r_k for k = 0 ... M: float64 [M + 1]."""
    table = graded * np.arange(modules + 1) / modules
    table[-1] = 1.0
    return table


def expected_reward(skills: Floats, graded: float) -> Floats:
    """Mean of r over tasks, sum_k (r_k - r_{k-1}) p_1 ... p_k: skills [..., M] to [...]."""
    steps = np.diff(reward_table(skills.shape[-1], graded))
    return np.cumprod(skills, axis=-1) @ steps


def gains(skills: Floats, graded: float) -> Floats:
    """What the reward gains when a module is replaced by its gold behaviour (p_m = 1): skills [..., M] to [..., M]."""
    modules = skills.shape[-1]
    replaced = np.where(np.eye(modules, dtype=bool), 1.0, skills[..., None, :])
    return expected_reward(replaced, graded) - expected_reward(skills, graded)[..., None]


def slopes(skills: Floats, graded: float) -> Floats:
    """dR/dp_m of the expected reward, which is linear in every p_m: skills [..., M] to [..., M]."""
    modules = skills.shape[-1]
    eye = np.eye(modules, dtype=bool)
    with_one = expected_reward(np.where(eye, 1.0, skills[..., None, :]), graded)
    with_none = expected_reward(np.where(eye, 0.0, skills[..., None, :]), graded)
    return with_one - with_none


def jump_moments(skills: Floats, module: int, graded: float) -> tuple[float, float]:
    """Mean and mean square over tasks of J, what a task earns more when one module goes from wrong to right.

    skills: [M]; module: its number. J = 0 where an earlier module fails, else r_k - r_module with k the modules that
    are right then. Its mean is `slopes` of that module.
    """
    rewards = reward_table(len(skills), graded)
    reached = float(np.prod(skills[:module]))
    onwards = np.cumprod(np.concatenate([[1.0], skills[module + 1 :]]))
    ends = onwards * (1.0 - np.append(skills[module + 1 :], 0.0))  # P(k = module + 1 + i)
    jumps = rewards[module + 1 :] - rewards[module]
    return reached * float(ends @ jumps), reached * float(ends @ jumps**2)
