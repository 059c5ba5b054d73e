"""Rows left out, by id, with the reason. `validate()` finds no other."""

from __future__ import annotations

from collections.abc import Mapping

BAD: Mapping[str, str] = {
    "simple_python_200": "asks for an argument (fuel_efficiency) that the question does not give",
    "parallel_multiple_21": "accepts an expression of code where the function takes a list",
    "parallel_multiple_26": "accepts an argument (type) that the function does not have",
    "parallel_multiple_94": "accepts a list of texts where the function takes one of whole numbers",
    "multi_turn_long_context_38": "wants 34 calls for one message",
    "multi_turn_long_context_46": "wants 34 calls for one message",
    "multi_turn_miss_func_49": "calls a function before it is offered",
}
