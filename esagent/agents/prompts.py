"""Few-shot prompts as text files that a user can edit.

A file reads like the text the model sees:

    What to do, in a sentence or two.

    Task: How far is 3 km in m?
    Plan: convert units

    Task: Add 2 and 5.
    Plan: calculate

    --- task ---
    Task: {question}
    Plan:

Everything above the marker line `--- task ---` is shared by all tasks; below it stands the template of one task, with
fields such as {question}. The template's last line is the cue. A paragraph above the marker that holds a line starting
with the cue is an example, any other paragraph an instruction. {tools} may stand above the marker as well: it lists the
task's tools. A template line whose only fields are empty is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from esagent.core.episode import Message
from esagent.errors import ConfigError

MARKER = "--- task ---"
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Prompt:
    """One module's prompt.

    shared: everything above the marker, ending at the last example's answer.
    template: the lines below the marker.
    """

    shared: str
    template: tuple[str, ...]

    def prefix(self, tools: str) -> str:
        """What raw models read first, equal for all tasks with the same tools."""
        return self.shared.replace("{tools}", tools)

    def fill(self, fields: Mapping[str, str]) -> str:
        """The task's own part, without the line breaks before it."""
        lines = []
        for line in self.template:
            names = _FIELD.findall(line)
            if not names or any(fields[name] for name in names):
                lines.append(_FIELD.sub(lambda match: fields[match[1]], line))
        return "\n".join(lines)

    def messages(
        self, tools: str, filled: str, *, list_tools: bool = False, examples: bool = True
    ) -> tuple[Message, ...]:
        """The same prompt as a chat: the instructions, a pair of messages per example, the task.

        list_tools: the instructions end with `tools` unless they hold it already. examples: False leaves the pairs out.
        """
        cue = self.template[-1]
        system, pairs = [], []
        for paragraph in re.split(r"\n\s*\n", self.prefix(tools)):
            question, mark, answer = f"\n{paragraph}".rpartition(f"\n{cue}")
            if mark:
                pairs.append(Message("user", f"{question}{mark}".strip()))
                pairs.append(Message("assistant", answer.strip()))
            elif paragraph.strip():
                system.append(paragraph.strip())
        if list_tools and tools and "{tools}" not in self.shared:
            system.append(f"Tools:\n{tools}")
        head = (Message("system", "\n\n".join(system)),) if system else ()
        return (*head, *(pairs if examples else ()), Message("user", filled))


def load_prompts(folder: Path, modules: Sequence[str], fields: frozenset[str]) -> dict[str, Prompt]:
    """The prompt of every module, from `<folder>/<module>.txt`. Raises ConfigError with all problems of all files."""
    if not folder.is_dir():
        raise ConfigError(f"agent.prompts: {folder} is not a folder")
    prompts: dict[str, Prompt] = {}
    problems: list[str] = []
    for module in modules:
        path = folder / f"{module}.txt"
        try:
            prompts[module] = parse_prompt(path.read_text(encoding="utf-8"), fields)
        except FileNotFoundError:
            problems.append(f"agent.prompts: {path} is missing; the agent's modules are {', '.join(modules)}")
        except (ValueError, OSError) as error:
            problems.append(f"agent.prompts: {path}: {error}")
    if problems:
        raise ConfigError(*problems)
    return prompts


def parse_prompt(text: str, fields: frozenset[str]) -> Prompt:
    """Read one prompt file. Raises ValueError for a missing marker, an empty template or an unknown field."""
    lines = text.strip().splitlines()
    if lines.count(MARKER) != 1:
        raise ValueError(f"needs exactly one line {MARKER!r} between the examples and the template")
    at = lines.index(MARKER)
    shared, template = "\n".join(lines[:at]).rstrip(), tuple(lines[at + 1 :])
    if not template:
        raise ValueError(f"nothing stands below {MARKER!r}")
    if _FIELD.search(template[-1]):
        raise ValueError("the last line of the template is the cue of the answer and takes no field")
    unknown = sorted({name for line in template for name in _FIELD.findall(line)} - fields)
    if unknown:
        raise ValueError(f"unknown field {{{unknown[0]}}}; fields are {', '.join(sorted(fields))}")
    return Prompt(shared, template)
