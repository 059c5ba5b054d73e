"""Calls in the tagged style of Qwen3-Coder and Qwen3.5.

<function=name>
<parameter=key>
value
</parameter>
</function>
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from esagent.agents.toolcalls.bind import CUT, bind, unknown
from esagent.agents.toolcalls.values import from_text, shorten
from esagent.core.episode import ToolCall, ToolSpec

_FUNCTION = re.compile(r"<function=([^>\n]*)>(.*?)(</function>|(?=<function=)|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]*)>(.*?)</parameter>", re.DOTALL)


def read_tagged(text: str, tools: Mapping[str, ToolSpec], cut: bool) -> list[ToolCall]:
    """Every `<function=...>` of `text`, in order; one that is not closed is an error."""
    return [_call(match[1].strip(), match[2], bool(match[3]), tools, cut) for match in _FUNCTION.finditer(text)]


def _call(name: str, body: str, closed: bool, tools: Mapping[str, ToolSpec], cut: bool) -> ToolCall:
    tool = tools.get(name)
    if tool is None:
        return unknown(name, tools)
    if not closed:
        return ToolCall(name, error=CUT if cut else f"{name}: </function> is missing")
    given: dict[str, str] = {}
    for parameter in _PARAMETER.finditer(body):
        key, value = parameter[1].strip(), parameter[2]
        if key in given:
            return ToolCall(name, error=f"{name}: argument {shorten(key)} is given twice")
        given[key] = value.removeprefix("\n").removesuffix("\n")
    if rest := _PARAMETER.sub("", body).strip():
        return ToolCall(name, error=f"{name}: cannot read {shorten(rest)}")
    return bind(tool, given, _verbatim)


def _verbatim(text: str, schema: Mapping[str, object]) -> object:
    """Strings stand between the tags as they are, quotes included; everything else is written as JSON."""
    return text if schema.get("type") == "string" else from_text(text, schema)
