"""Words: reverse, capitals, length, letter counts."""

from __future__ import annotations

from collections.abc import Callable

from esagent.tasks.toolbox.draw import Draw
from esagent.tasks.toolbox.skill import Drawn, Follow, Level, Start
from esagent.tasks.toolbox.words import WORDS


def _edit(operation: str) -> Callable[[Draw, Level], Drawn]:
    def draw_edit(draw: Draw, level: Level) -> Drawn:
        (word,) = draw.words(1)
        return Drawn({"operation": operation, "string": word}, {"word": word}, carriers=_carriers(operation))

    return draw_edit


def _edit_it(operation: str) -> Callable[[Draw, Level, str, str], Drawn | None]:
    def draw_edit(draw: Draw, level: Level, marker: str, result: str) -> Drawn | None:
        return Drawn({"operation": operation, "string": marker}, {}, carriers=_carriers(operation))

    return draw_edit


def _carriers(operation: str) -> tuple[str, ...]:
    return ("letters",) if operation == "length" else ()


def _count(draw: Draw, level: Level) -> Drawn:
    letters = {word: letter for word in WORDS[draw.split] if (letter := draw.letter(word))}
    word = draw.pick(list(letters))
    arguments = {"operation": "count", "string": word, "letter": letters[word]}
    return Drawn(arguments, {"word": word, "letter": letters[word]}, carriers=("times",))


STARTS = (
    Start(
        "text.reverse",
        "text",
        "word",
        _edit("reverse"),
        questions={
            "train": (
                "Reverse the word {word}.",
                "Write {word} backwards.",
                "What is the reverse of {word}?",
                "How do you write the word {word} backwards?",
                "Please reverse {word}.",
                "I need the word {word} backwards.",
                "Spell {word} backwards.",
                "Turn the word {word} around.",
            ),
            "validation": ("Give {word} in reverse order of letters.", "What is {word}, reversed?"),
            "heldout": (
                "Show the letters of {word} in reverse.",
                "How does {word} read from right to left?",
                "Flip the word {word} back to front.",
            ),
        },
        clauses={
            "train": ("reverse the word {word}", "write {word} backwards"),
            "validation": ("give {word} reversed",),
            "heldout": ("flip the word {word} back to front",),
        },
    ),
    Start(
        "text.upper",
        "text",
        "word",
        _edit("upper"),
        questions={
            "train": (
                "Write {word} in upper case.",
                "Put the word {word} into upper case.",
                "What is {word} in upper case?",
                "Write the word {word} in capital letters.",
                "Please put {word} into upper case.",
                "I need {word} in capital letters.",
                "Turn all letters of {word} into capitals.",
                "Spell {word} in upper case.",
            ),
            "validation": ("Give {word} in upper case letters.", "Change {word} to capitals."),
            "heldout": (
                "Show the word {word} in upper case.",
                "How does {word} look in upper case?",
                "Make every letter of {word} upper case.",
            ),
        },
        clauses={
            "train": ("write {word} in upper case", "put {word} into capital letters"),
            "validation": ("change {word} to capitals",),
            "heldout": ("make every letter of {word} upper case",),
        },
    ),
    Start(
        "text.length",
        "text",
        "number",
        _edit("length"),
        questions={
            "train": (
                "How many letters does the word {word} have?",
                "What is the length of the word {word}?",
                "Count the letters of the word {word}.",
                "How long is the word {word}?",
                "Please count the letters in {word}.",
                "I need the length of the word {word}.",
                "Of how many letters is the word {word} made?",
                "I want to know how many letters {word} has.",
            ),
            "validation": ("Give the length of {word}.", "How many letters are in {word}?"),
            "heldout": (
                "Tell me the number of letters in {word}.",
                "What length does the text {word} have?",
                "How many letters make up {word}?",
            ),
        },
        clauses={
            "train": ("count the letters of the word {word}", "take the length of the word {word}"),
            "validation": ("find the length of {word}",),
            "heldout": ("see how many letters make up {word}",),
        },
    ),
    Start(
        "text.count",
        "text",
        "final",
        _count,
        questions={
            "train": (
                "How often does the letter {letter} occur in {word}?",
                "How many times is the letter {letter} in {word}?",
                "Count the letter {letter} in the word {word}.",
            ),
            "validation": ("How many letters {letter} does {word} contain?",),
            "heldout": (
                "Please count every {letter} that you find in {word}.",
                "In the text {word}, what is the count of the letter {letter}?",
            ),
        },
        clauses={
            "train": ("count the letter {letter} in {word}",),
            "validation": ("find how many letters {letter} are in {word}",),
            "heldout": ("count every {letter} in the text {word}",),
        },
    ),
)

FOLLOWS = (
    Follow(
        "text.reverse_it",
        "text",
        "word",
        "word",
        _edit_it("reverse"),
        clauses={
            "train": ("reverse it", "write it backwards"),
            "validation": ("give it reversed",),
            "heldout": ("flip it back to front",),
        },
    ),
    Follow(
        "text.upper_it",
        "text",
        "word",
        "word",
        _edit_it("upper"),
        clauses={
            "train": ("write it in upper case",),
            "validation": ("change it to capitals",),
            "heldout": ("make every letter of it upper case",),
        },
    ),
    Follow(
        "text.length_it",
        "text",
        "word",
        "number",
        _edit_it("length"),
        clauses={
            "train": ("count its letters", "take its length"),
            "validation": ("find the length of that",),
            "heldout": ("see how many letters it has",),
        },
    ),
)
