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
fields such as {question}. The template's last line is the cue. A template line whose only fields are empty is left out.

Paragraphs above the marker are separated by blank lines. One that holds a line starting with the cue is an example, any
other an instruction. {tools} in an instruction lists the task's tools. A paragraph whose first line is `@name` is shown
only for tasks that offer the tool of that name (`@name name`: all of them), one below a bare `@` only for tasks without
tools; the line itself is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from esagent.core.episode import Message, ToolSpec
from esagent.errors import ConfigError

MARKER = "--- task ---"
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Prompt:
    """One module's prompt.

    shared: the paragraphs above the marker, each with the names of the tools it is about: none where it is about the
    lack of tools, None where it is about all tasks.
    template: the lines below the marker.
    """

    shared: tuple[tuple[frozenset[str] | None, str], ...]
    template: tuple[str, ...]

    def prefix(self, tools: Sequence[ToolSpec]) -> str:
        """What raw models read first, equal for all tasks with the same tools. Ends at the last example's answer."""
        return "\n\n".join(self._paragraphs(tools))

    def fill(self, fields: Mapping[str, str]) -> str:
        """The task's own part, without the line breaks before it."""
        lines = []
        for line in self.template:
            names = _FIELD.findall(line)
            if not names or any(fields[name] for name in names):
                lines.append(_FIELD.sub(lambda match: fields[match[1]], line))
        return "\n".join(lines)

    def messages(
        self, tools: Sequence[ToolSpec], filled: str, *, list_tools: bool = False, examples: bool = True
    ) -> tuple[Message, ...]:
        """The same prompt as a chat: the instructions, a pair of messages per example, the task.

        list_tools: the instructions end with the tools unless they hold them already. examples: False leaves the pairs
        out.
        """
        cue = self.template[-1]
        system, pairs = [], []
        for paragraph in self._paragraphs(tools):
            question, mark, answer = f"\n{paragraph}".rpartition(f"\n{cue}")
            if not mark:
                system.append(paragraph)
            elif examples:
                pairs.append(Message("user", f"{question}{mark}".strip()))
                pairs.append(Message("assistant", answer.strip()))
        if list_tools and tools and not any("{tools}" in paragraph for _, paragraph in self.shared):
            system.append(f"Tools:\n{signatures(tools)}")
        head = (Message("system", "\n\n".join(system)),) if system else ()
        return (*head, *pairs, Message("user", filled))

    def _paragraphs(self, tools: Sequence[ToolSpec]) -> list[str]:
        offered = {tool.name for tool in tools}
        shown = [text for about, text in self.shared if about is None or (about <= offered if about else not offered)]
        return [text.replace("{tools}", signatures(tools)) if "{tools}" in text else text for text in shown]


def signatures(tools: Sequence[ToolSpec]) -> str:
    """One line per tool: `name(argument, argument): what it does`."""
    return "\n".join(f"{t.name}({', '.join(t.parameters.get('properties', ()))}): {t.description}" for t in tools)


def arguments(tool: ToolSpec) -> str:
    """One line per argument: `name (type, optional): what it is`."""
    needed = tool.parameters.get("required", ())
    lines = []
    for name, schema in tool.parameters.get("properties", {}).items():
        facts = [kind for kind in (schema.get("type"), None if name in needed else "optional") if isinstance(kind, str)]
        lines.append(f"{name} ({', '.join(facts) or 'any'}): {' '.join(str(schema.get('description', '')).split())}")
    return "\n".join(lines)


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
    template = tuple(lines[at + 1 :])
    if not template:
        raise ValueError(f"nothing stands below {MARKER!r}")
    if _FIELD.search(template[-1]):
        raise ValueError("the last line of the template is the cue of the answer and takes no field")
    unknown = sorted({name for line in template for name in _FIELD.findall(line)} - fields)
    if unknown:
        raise ValueError(f"unknown field {{{unknown[0]}}}; fields are {', '.join(sorted(fields))}")
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines[:at]))
    return Prompt(tuple(_paragraph(text.strip()) for text in paragraphs if text.strip()), template)


def _paragraph(text: str) -> tuple[frozenset[str] | None, str]:
    """A paragraph with the tools its first line, `@name name`, makes it depend on."""
    first, _, rest = text.partition("\n")
    return (frozenset(first[1:].split()), rest) if first.startswith("@") else (None, text)
