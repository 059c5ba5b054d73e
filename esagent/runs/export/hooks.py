"""Format `hooks`: what each module adds, and a small program that adds it to a stock transformers model.

The only format for `space.positions=answer`: where something acts is more than weights can say.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from safetensors.torch import save_file

from esagent.runs.export import loader
from esagent.runs.export.trained import Trained

PROGRAM = "agent.py"


def write(trained: Trained, folder: Path) -> None:
    """`<module>.safetensors` per module, and the program that reads them together with export.json."""
    for module, adapter in trained.adapters.items():
        tensors = {f"{site}/bias": bias for site, bias in adapter.biases.items()}
        for site, (down, up) in adapter.low_rank.items():
            tensors |= {f"{site}/down": down, f"{site}/up": up}
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / f"{module}.safetensors")
    shutil.copyfile(loader.__file__, folder / PROGRAM)
