"""Right calls, changed at random: many of them into wrong ones, some into other right ones."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from typing import Any

Call = dict[str, Any]
JUNK: Sequence[Any] = (
    "",
    "nonsense",
    0,
    1,
    -7,
    3.5,
    True,
    False,
    None,
    [],
    {},
    [1],
    ["a"],
    {"a": 1},
    [{"a": 1}],
    [[1]],
)


def mutated(calls: Sequence[Call], accepted: Sequence[Mapping[str, Any]], draw: random.Random) -> list[Call]:
    """One to three changes of `calls`. accepted: the right values by argument, for each."""
    made = [copy.deepcopy(dict(call)) for call in calls]
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if not made or draw.random() < 0.12:
            _change_list(made, calls, draw)
            continue
        at = draw.randrange(len(made))
        _change_call(made[at], accepted[at] if at < len(accepted) else {}, draw)
    return made


def _change_list(made: list[Call], calls: Sequence[Call], draw: random.Random) -> None:
    kind = draw.choice(("drop", "twice", "shuffle"))
    if kind == "drop" and made:
        made.pop(draw.randrange(len(made)))
    elif kind == "twice":
        made.append(copy.deepcopy(dict(draw.choice(calls))))
    else:
        draw.shuffle(made)


def _change_call(call: Call, accepted: Mapping[str, Any], draw: random.Random) -> None:
    arguments = call["arguments"]
    kind = draw.choice(("value", "value", "value", "value", "other", "other", "drop", "add", "name"))
    if kind == "name":
        call["name"] = draw.choice((call["name"] + "_", call["name"].upper(), "nope"))
    elif kind == "add":
        arguments[draw.choice([*accepted, "surplus"])] = copy.deepcopy(draw.choice(JUNK))
    elif kind == "other" and accepted:
        name = draw.choice(list(accepted))
        option = copy.deepcopy(draw.choice(accepted[name])) if accepted[name] else ""
        arguments[name] = _chosen(option, draw)
    elif arguments:
        name = draw.choice(list(arguments))
        if kind == "drop":
            del arguments[name]
        else:
            arguments[name] = changed(arguments[name], draw)


def _chosen(option: Any, draw: random.Random) -> Any:
    """A value that an accepted one stands for: dicts, also those in a list, hold accepted values by key."""
    if isinstance(option, list):
        return [_chosen(item, draw) if isinstance(item, dict) else item for item in option]
    if isinstance(option, dict):
        return {key: draw.choice(values) for key, values in option.items() if values}
    return option


def changed(value: Any, draw: random.Random) -> Any:
    """Another value, near to the old one or of another type."""
    if draw.random() < 0.15:
        return copy.deepcopy(draw.choice(JUNK))
    if isinstance(value, bool):
        return draw.choice((not value, int(value), str(value)))
    if isinstance(value, (int, float)):
        return draw.choice((value + 1, -value, float(value), str(value), int(value), value * 1.5))
    if isinstance(value, str):
        return draw.choice(
            (
                value.upper(),
                f" {value}.",
                value.replace(" ", "_"),
                value[1:],
                value + "x",
                [value],
                f"{value}, '",
                value,
            )
        )
    if isinstance(value, list) and value:
        at = draw.randrange(len(value))
        swapped = [changed(item, draw) if i == at else item for i, item in enumerate(value)]
        return draw.choice(
            (swapped, swapped, value[:-1], value[::-1], [*value, value[at]], tuple(value), str(value), [])
        )
    if isinstance(value, dict) and value:
        key = draw.choice(list(value))
        without = {name: item for name, item in value.items() if name != key}
        return draw.choice((without, {**value, key: changed(value[key], draw)}, {**value, "surplus": 1}, [value]))
    return copy.deepcopy(draw.choice(JUNK))
