"""The process behind `checker.Checker`: one JSON line [given, gold] in, one JSON line [equal or null, error] out.

Run as a file, so that it loads sympy and math-verify and nothing of this project. It has no limit on time of its own:
whoever asks kills it. `faulthandler` ends it should that process die while it is busy.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import sys

MEMORY = 2 << 30
"""Most address space, in bytes: an expression may grow without end."""


def main(seconds: float) -> None:
    """Answer until standard input ends. A question that takes longer than `seconds` ends the process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.set_int_max_str_digits(10_000)
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse, verify

    # Neither units nor plain numbers: looking for them, math-verify reads 1 - 1/\mathrm{e} as the number 1.
    normal = NormalizationConfig(units=False, malformed_operators=True, nits=True)
    targets = [LatexExtractionConfig(normalization_config=normal)]

    def equal(given: str, gold: str) -> bool:
        sides = [parse(f"${text}$", targets, parsing_timeout=None, raise_on_error=False) for text in (gold, given)]
        return bool(all(sides) and verify(*sides, timeout_seconds=None, raise_on_error=False))

    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        faulthandler.dump_traceback_later(seconds, exit=True)
        given, gold = json.loads(line)
        try:
            answer = [equal(given, gold), ""]
        except Exception as error:  # sympy raises anything over odd input; the side that asked decides
            answer = [None, f"{type(error).__name__}: {error}"[:200]]
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]))
