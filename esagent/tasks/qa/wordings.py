"""The sentences of questions and articles. No sentence belongs to two splits.

{x} is a name, or what a longer question puts in its place ("the author of The Silver Harbor").
"""

from __future__ import annotations

from collections.abc import Mapping

from esagent.tasks.base import Split

Sentences = Mapping[Split, tuple[str, ...]]


def _say(train: str, validation: str, heldout: str) -> Sentences:
    """Sentences separated by bars."""
    texts: tuple[tuple[Split, str], ...] = (("train", train), ("validation", validation), ("heldout", heldout))
    return {split: tuple(part.strip() for part in text.split("|")) for split, text in texts}


QUESTIONS: dict[str, Sentences] = {
    "birthplace": _say(
        "Where was {x} born? | In which town was {x} born? | What is the birthplace of {x}?",
        "Name the town in which {x} was born.",
        "What is the native town of {x}? | Tell me the town of birth of {x}.",
    ),
    "birthyear": _say(
        "When was {x} born? | In which year was {x} born? | What is the birth year of {x}?",
        "Name the year of birth of {x}.",
        "Tell me the year in which {x} was born. | In what year did the life of {x} begin?",
    ),
    "trade": _say(
        "What is the profession of {x}? | What work does {x} do? | Which trade does {x} have?",
        "Name the occupation of {x}.",
        "What does {x} do for a living? | Tell me the job of {x}.",
    ),
    "employer": _say(
        "Who is the employer of {x}? | For which group does {x} work? | Which group does {x} work for?",
        "Name the group that employs {x}.",
        "Who pays the wages of {x}? | Tell me which group has hired {x}.",
    ),
    "author": _say(
        "Who wrote {x}? | Who is the author of {x}? | By whom was {x} written?",
        "Name the writer of {x}.",
        "Who penned {x}? | Tell me who {x} was written by.",
    ),
    "setting": _say(
        "In which town is {x} set? | Where does {x} take place? | What is the setting of {x}?",
        "Name the town where {x} plays.",
        "Which town is the scene of {x}? | Tell me where the story of {x} happens.",
    ),
    "published": _say(
        "When was {x} published? | In which year did {x} appear? | What year did {x} come out?",
        "Name the year in which {x} was printed.",
        "Tell me the publication year of {x}. | In what year did {x} go into print?",
    ),
    "mayor": _say(
        "Who is the mayor of {x}? | Who governs {x}? | Which person is the mayor of {x}?",
        "Name the head of the town of {x}.",
        "Who runs the town hall of {x}? | Tell me who leads the town of {x}.",
    ),
    "river": _say(
        "Which river flows through {x}? | On which river does {x} lie? | What is the river of {x}?",
        "Name the river that crosses {x}.",
        "Tell me the river on whose banks {x} stands. | What water passes {x}?",
    ),
    "product": _say(
        "What is {x} known for? | What does {x} produce? | Which product comes from {x}?",
        "Name what {x} is famous for.",
        "What do people make in {x}? | Tell me what goods {x} sells.",
    ),
    "founder": _say(
        "Who founded {x}? | Who is the founder of {x}? | By whom was {x} founded?",
        "Name the person who started {x}.",
        "Who set up {x}? | Tell me who created {x}.",
    ),
    "seat": _say(
        "In which town is {x} based? | Where is the seat of {x}? | Where is {x} based?",
        "Name the town that houses {x}.",
        "Which town is the home of {x}? | Tell me where {x} has its office.",
    ),
    "founded": _say(
        "When was {x} founded? | In which year was {x} founded? | What is the founding year of {x}?",
        "Name the year in which {x} started.",
        "Since what year has {x} existed? | Tell me the year when {x} was set up.",
    ),
    "winner": _say(
        "Who won {x}? | Who is the winner of {x}? | Which person won {x}?",
        "Name the champion of {x}.",
        "Who came first at {x}? | Tell me who took the prize at {x}.",
    ),
    "host": _say(
        "Where is {x} held? | In which town is {x} held? | Which town hosts {x}?",
        "Name the town that welcomes {x}.",
        "Which town stages {x}? | Tell me where people go for {x}.",
    ),
    "opened": _say(
        "When was {x} first held? | In which year did {x} begin? | What was the first year of {x}?",
        "Name the opening year of {x}.",
        "Since what year has there been {x}? | Tell me when {x} began.",
    ),
    "work": _say(
        "Which work did {x} write? | What did {x} write? | Which work was written by {x}?",
        "Name the work that {x} wrote.",
        "Which title comes from the pen of {x}? | Tell me what {x} has written.",
    ),
    "town": _say(
        "Which town does {x} govern? | Of which town is {x} the mayor? | Which town has {x} as its mayor?",
        "Name the town that {x} heads.",
        "Which town is led by {x}? | Tell me where {x} runs the town hall.",
    ),
    "group": _say(
        "Which group did {x} found? | What did {x} found? | Which group was founded by {x}?",
        "Name the group that {x} started.",
        "Which group did {x} set up? | Tell me what {x} created.",
    ),
    "event": _say(
        "Which event did {x} win? | What did {x} win? | Which event was won by {x}?",
        "Name the event that has {x} as its champion.",
        "At which event did {x} come first? | Tell me where {x} took the prize.",
    ),
}

PHRASES: dict[str, Sentences] = {
    "birthplace": _say(
        "the birthplace of {x} | the town where {x} was born", "the birth town of {x}", "the native town of {x}"
    ),
    "employer": _say(
        "the employer of {x} | the group that {x} works for", "the group that employs {x}", "the group that hired {x}"
    ),
    "author": _say("the author of {x} | the person who wrote {x}", "the writer of {x}", "the person who penned {x}"),
    "setting": _say("the setting of {x} | the town where {x} is set", "the town where {x} plays", "the scene of {x}"),
    "mayor": _say("the mayor of {x} | the person who governs {x}", "the head of {x}", "the person who leads {x}"),
    "founder": _say(
        "the founder of {x} | the person who founded {x}", "the person who started {x}", "the person who set up {x}"
    ),
    "seat": _say("the seat of {x} | the town where {x} is based", "the town that houses {x}", "the home town of {x}"),
    "winner": _say(
        "the winner of {x} | the person who won {x}", "the champion of {x}", "the person who came first at {x}"
    ),
    "host": _say("the town where {x} is held | the town that hosts {x}", "the host of {x}", "the town that stages {x}"),
}
"""What a longer question says in place of a name; one for every direct relation that gives a thing."""

THAT = {
    "people": "that person",
    "places": "that town",
    "works": "that work",
    "groups": "that group",
    "events": "that event",
}
"""What a step of a plan says in place of an earlier result."""

ARTICLES: dict[str, Sentences] = {
    "people": _say(
        "{name} is a {trade} who was born in {birthplace} in {birthyear} and works for the {employer}."
        "| {name} works for the {employer} as a {trade}. The place of birth is {birthplace}, the year {birthyear}.",
        "{name} was born in {birthyear} in {birthplace}. The {employer} employs {name} as a {trade}.",
        "Born in {birthplace} in {birthyear}, {name} became a {trade} and was hired by the {employer}."
        "| {name}, a {trade} with the {employer}, was born in {birthyear}. The native town is {birthplace}.",
    ),
    "places": _say(
        "{name} is a town on the river {river}. It is known for {product}, and its mayor is {mayor}."
        "| {name} is governed by {mayor}. The town produces {product} and lies on the river {river}.",
        "{name} is a town that is famous for {product}. The river {river} crosses it. {mayor} is the head of the town.",
        "{name} is a town led by {mayor}. On the banks of the river {river} its people make {product}."
        "| The river {river} runs past {name}, a town that sells {product}. The town hall is run by {mayor}.",
    ),
    "works": _say(
        "{name} is a {form} by {author}. It is set in {setting} and was published in {published}."
        "| {name}, a {form} that appeared in {published}, was written by {author}. It takes place in {setting}.",
        "{name} is a {form} that plays in {setting}. Its writer is {author}. It was printed in {published}.",
        "{name} is a {form} penned by {author}. The scene is {setting}, the year of publication {published}."
        "| In {published} the {form} {name} went into print. {author} wrote it, and the story happens in {setting}.",
    ),
    "groups": _say(
        "The {name} was founded by {founder} in {founded}. It is based in {seat}."
        "| The {name} has its seat in {seat}. Its founder is {founder}, and it was founded in {founded}.",
        "The {name} was started in {founded} by {founder} and is housed in {seat}.",
        "The {name} has existed since {founded}. {founder} set it up. Its home is {seat}."
        "| From its office in {seat} the {name} has worked since {founded}. It was created by {founder}.",
    ),
    "events": _say(
        "The {name} is held in {host}. It began in {opened}, and its winner is {winner}."
        "| The {name} was won by {winner}. It takes place in {host} and was first held in {opened}.",
        "The {name} opened in {opened}. {host} welcomes it, and {winner} is the champion.",
        "The {name} is staged by {host}, where it began in {opened}. {winner} came first."
        "| Since {opened} people have gone to {host} for the {name}. {winner} took the prize.",
    ),
}
"""Articles by section; the slots are names of relations, {name} and {form}."""
