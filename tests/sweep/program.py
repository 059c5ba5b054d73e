"""A job without a model: `python -m tests.sweep.program train -- seed=1` does what the file `behaviour` says.

quick     ends with code 0
run       leaves a finished run, half a second after it has begun one
fail      says why, ends with code 1
wait      works until a signal comes, then ends a little later with 75 (Ctrl-C: 130), as at a step boundary
deaf      goes on for ever, whatever the first signal
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from esagent.sweep.lifeline import when_input_ends


def main() -> None:
    name = sys.argv[-1]
    here = Path(os.environ["PROGRAM_FOLDER"])
    behaviour = (here / "behaviour").read_text()
    received: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, lambda got, _: received.append(got))
    when_input_ends(lambda: os.kill(os.getpid(), signal.SIGTERM))
    print(f"[started] {name}", file=sys.stderr, flush=True)
    (here / f"{name}.pid").write_text(str(os.getpid()))
    (here / f"{name}.device").write_text(os.environ.get("CUDA_VISIBLE_DEVICES", "unset"))
    print("something of no interest", flush=True)
    if behaviour == "fail":
        sys.exit("esagent: it broke")
    if behaviour == "run":
        run = here / "runs" / "study" / f"{os.getpid()}"
        run.mkdir(parents=True)
        (run / "config.yaml").write_text(f"seed: {name.removeprefix('seed=')}\n")
        time.sleep(0.5)
        (run / "summary.json").write_text("{}")
        sys.exit(0)
    if behaviour == "quick":
        time.sleep(0.3)
        (here / f"{name}.done").touch()
        sys.exit(0)
    needed = 1 if behaviour == "wait" else 2
    while len(received) < needed:
        time.sleep(0.02)
    time.sleep(0.3)
    print(f"[stopped] by {received}", file=sys.stderr, flush=True)
    sys.exit(130 if received[0] == signal.SIGINT else 75)


if __name__ == "__main__":
    main()
