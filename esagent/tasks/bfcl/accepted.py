"""Whether a value is one of those that the data accept for an argument: the rules of the leaderboard's own checker.

Types are strict (True is no integer, "5" is no 5), but for a whole number where a float is asked for. Texts are equal
up to case, blanks and the signs , . / - _ * ^; lists, and dicts key by key, hold such texts. An accepted "" says that
the argument may be left out. Where the accepted values are of another type than the function's description says, that
type is taken too, and the value must then be equal.

The package's checker is `bfcl_eval/eval_checker/ast_eval/ast_checker.py` (Apache 2.0); this one is written anew, and a
test holds its verdicts to that one's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

LEFT_OUT = ""
"""Among the accepted values of an argument: it may be left out."""

_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
_IGNORED = re.compile(r"[ ,./\-_*^]")


def accepts(accepted: Sequence[Any], value: Any, described: Mapping[str, Any]) -> bool:
    """Whether `value` is right. described: the argument in the function's description; `type`, and `items` of lists."""
    wanted: type[Any] = _TYPES[described["type"]]
    inner = _TYPES[described["items"]["type"]] if described["type"] in ("array", "tuple") else None
    if described["type"] == "tuple" and isinstance(value, tuple):
        value = list(value)
    if wanted is float and type(value) is int:
        value = _as_float(value)
    own, kind = _own_type(accepted), type(value)
    if kind is not wanted:
        return kind is own and value in accepted
    if inner is not None and not any(_holds(option, value, inner) for option in accepted):
        return False
    if own is not None and own is not wanted:
        return value in accepted
    if wanted is dict:
        return any(_same_dict(option, value) for option in accepted if option != LEFT_OUT)
    if wanted is list and inner is dict:
        return any(_same_dicts(option or [], value) for option in accepted)
    if wanted is str:
        return _plain(value) in [_plain(option) for option in accepted if isinstance(option, str)]
    if wanted is list:
        plain = [_plain(item) for item in value]
        return any(plain == [_plain(item) for item in option] for option in accepted)
    return value in accepted


def right_arguments(
    accepted: Mapping[str, Sequence[Any]], given: Mapping[str, Any], described: Mapping[str, Any]
) -> float:
    """Share of a call's arguments that are right, over those given and those that must be; 1.0 for a right call.

    accepted: values by argument. described: the parameters of the function, `properties` and `required`.
    """
    properties = described["properties"]
    needed = {*described.get("required", ()), *(name for name in accepted if LEFT_OUT not in accepted[name])}
    names = needed | set(given)
    right = sum(
        name in given
        and name in accepted
        and name in properties
        and accepts(accepted[name], given[name], properties[name])
        for name in names
    )
    return right / len(names) if names else 1.0


def _own_type(accepted: Sequence[Any]) -> type | None:
    """The type of the accepted values themselves; None when there is none but "left out"."""
    return next((type(option) for option in accepted if option != LEFT_OUT), None)


def _holds(option: Any, value: Sequence[Any], inner: type) -> bool:
    """Whether the items of a list have the type that the description or the accepted list gives them."""
    return not isinstance(option, list) or all(type(item) in (inner, _own_type(option)) for item in value)


def _same_dict(option: Mapping[str, Sequence[Any]], value: Mapping[str, Any]) -> bool:
    """option: accepted values by key."""
    if not all(
        key in option and _plain(item) in [_plain(other) for other in option[key]] for key, item in value.items()
    ):
        return False
    return all(key in value or LEFT_OUT in others for key, others in option.items())


def _same_dicts(option: Sequence[Any], value: Sequence[Any]) -> bool:
    pairs = zip(option, value, strict=False)
    return len(option) == len(value) and all(
        isinstance(item, dict) and isinstance(other, dict) and _same_dict(other, item) for other, item in pairs
    )


def _plain(value: Any) -> Any:
    """A text as it is compared; anything else as it is."""
    return _IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value


def _as_float(value: int) -> float | int:
    """`value` as a float; itself where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return value
