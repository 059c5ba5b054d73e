"""Print the contract's figures per method: `python -m tests.algorithms.figures` (a minute or two on one core)."""

from __future__ import annotations

from tests.algorithms.measure import START, Figure, cosine, floor, quadratic
from tests.algorithms.table import NAMES


def main() -> None:
    """One line per method and option, expected beside measured, with the deviation in standard errors."""
    print(f"start of the quadratic: loss {-float(quadratic(START)):.3f}")
    head = f"{'cos^2: expected':>16}{'measured':>10}{'dev':>7}   {'floor: simulated':>16}{'reached':>10}{'dev':>7}"
    print(f"{'method':<17}{head}")
    for name in NAMES:
        print(f"{name:<17}{_pair(cosine(name, 100), 16)}   {_pair(floor(name, 2), 16)}", flush=True)


def _pair(figure: Figure, width: int) -> str:
    return f"{figure.expected:>{width}.4f}{figure.measured:>10.4f}{figure.deviation:>+7.1f}"


if __name__ == "__main__":
    main()
