"""How many small programs per second each kind of Python sandbox runs, one worker, one program after the other.

Run by `make bench`, or alone: `python -m tests.bench.sandbox [--calls 200] [--repeat 5]`. Figures are medians over
repetitions that alternate between the kinds that are installed here. Fails where the programs that load no large
package run at less than 200 a second. Nothing else should be running.

    small       the programs of SMALL in turn: arithmetic, a loop, a sort, an error
    sympy       a program that solves a quadratic equation, where sympy is inside
    start       seconds from nothing to the first answer
    p95         of small, milliseconds
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time

from esagent.errors import EnvironmentFailure
from esagent.tools.python import Limits, PythonSandbox, make_sandbox

SMALL = (
    "print(6 * 7)",
    "total = 0\nfor i in range(100):\n    total += i * i\ntotal",
    "import math\nmath.comb(20, 10) // math.gcd(84, 36)",
    "words = ['pear', 'fig', 'apple']\nsorted(words, key=len)",
    "price = 12.5\nprint(f'{price * 1.2:.2f}')",
    "1 / 0",
)
SYMPY = "import sympy\nx = sympy.symbols('x')\nsympy.solve(x ** 2 - 5 * x + 6, x)"
LEAST = 200


def main(calls: int, repeat: int) -> int:
    """Print one JSON object; 1 where a kind is too slow."""
    sandboxes: dict[str, PythonSandbox] = {}
    result: dict[str, dict[str, float]] = {}
    for kind in ("monty", "bwrap", "unsafe"):
        start = time.perf_counter()
        try:
            sandboxes[kind] = make_sandbox(kind, Limits())
        except EnvironmentFailure as failure:
            print(failure, file=sys.stderr)
            continue
        sandboxes[kind].run(SMALL[0])
        result[kind] = {"start": round(time.perf_counter() - start, 3)}
    rates: dict[str, list[float]] = {kind: [] for kind in sandboxes}
    solved: dict[str, list[float]] = {kind: [] for kind in sandboxes if sandboxes[kind].run(SYMPY).ok}
    took: dict[str, list[float]] = {kind: [] for kind in sandboxes}
    for _ in range(repeat):
        for kind, sandbox in sandboxes.items():
            rates[kind].append(_rate(sandbox, SMALL, calls, took[kind]))
            if kind in solved:
                solved[kind].append(_rate(sandbox, (SYMPY,), calls // 4, []))
    for kind, sandbox in sandboxes.items():
        sandbox.close()
        result[kind]["small"] = round(statistics.median(rates[kind]), 1)
        result[kind]["p95"] = round(1000 * statistics.quantiles(took[kind], n=20)[-1], 2)
        if kind in solved:
            result[kind]["sympy"] = round(statistics.median(solved[kind]), 1)
    print(json.dumps(result, indent=1))
    return int(any(row["small"] < LEAST for row in result.values()))


def _rate(sandbox: PythonSandbox, programs: tuple[str, ...], calls: int, took: list[float]) -> float:
    """Programs per second; the seconds of each are appended to `took`."""
    begin = time.perf_counter()
    for number in range(calls):
        start = time.perf_counter()
        sandbox.run(programs[number % len(programs)])
        took.append(time.perf_counter() - start)
    return calls / (time.perf_counter() - begin)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    sys.exit(main(arguments.calls, arguments.repeat))
