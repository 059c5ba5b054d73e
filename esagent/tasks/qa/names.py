"""The words that worlds are named with. No word of a name, trade, river or product belongs to two splits."""

from __future__ import annotations

from collections.abc import Mapping

from esagent.tasks.base import Split

Words = tuple[str, ...]


def _by_split(train: str, validation: str, heldout: str) -> Mapping[Split, Words]:
    return {"train": tuple(train.split()), "validation": tuple(validation.split()), "heldout": tuple(heldout.split())}


FIRST_NAMES = _by_split(
    """Anna Bruno Clara David Elena Felix Greta Henry Irene Jonas Karla Louis Marta Nils Olga Peter Rita Simon""",
    """Agnes Boris Carmen Dennis Edith Frank Gloria Hector Isabel Jacob Lydia Marcus""",
    """Alice Bernard Celia Daniel Esther Gilbert Hannah Ivan Julia Kenneth Laura Martin Naomi Oscar Paula Robert""",
)

LAST_NAMES = _by_split(
    """Aldous Barlow Carver Dunmore Ellery Farrow Garland Hobart Ingram Jessop Kendrick Lowell Marlow Norwood Osborne
    Prescott Radcliffe Sutton""",
    """Abbott Bexley Crawford Dalton Emerson Fulton Granger Holloway Irving Jarvis Kingsley Langford""",
    """Ainsley Bradshaw Colburn Draper Everett Fielding Goddard Harlan Keller Lambert Mercer Nolan Oakley Pruitt
    Rutledge Sinclair""",
)

PLACE_STARTS = _by_split(
    """Amber Birch Cold Dun East Fox Glen Hazel Kings Long Mill North""",
    """Ash Bright Corn Deer Elm Fern Green High Lark Moor New Oat""",
    """Alder Brook Clay Dale Ever Frost Grim Hart Lynd Marl Nether Otter""",
)
PLACE_ENDS = _by_split("wick mere holm", "combe thorpe bury", "stead marsh gate")

ADJECTIVES = _by_split(
    """Silver Silent Broken Golden Hidden Crimson Distant Frozen Gentle Hollow""",
    """Bitter Empty Emerald Lonely Narrow Paper Secret Velvet""",
    """Ancient Burning Clever Faithful Glass Humble Lost Midnight Quiet Scarlet""",
)
NOUNS = _by_split(
    """Harbor Garden Letter Mirror Orchard Bridge Lantern River Mask Clock""",
    """Castle Feather Island Journey Kettle Shadow Tower Voyage""",
    """Anchor Candle Desert Engine Forest Kingdom Meadow Needle Palace Ribbon""",
)
FORMS = _by_split("novel play", "poem ballad", "story comedy")
"""What kind of work an article says that a work is."""

GROUP_WORDS = _by_split(
    """Beacon Cedar Delta Falcon Granite Horizon Ivory Jupiter Lotus Marble Nova Pearl""",
    """Atlas Bronze Comet Dolphin Eclipse Fortune Gemini Harvest Lagoon Magnet Neptune Pioneer""",
    """Apollo Basalt Coral Dynamo Equator Flint Galaxy Helix Laurel Mercury Nimbus Phoenix""",
)
GROUP_ENDS = _by_split("Company Institute Bank", "Society Union College", "Trust Laboratory Press")

EVENT_WORDS = _by_split(
    """Apple Barley Cherry Dragon Eagle Flute Grape Honey Jasmine Kite Lemon Maple""",
    """Acorn Butter Copper Daisy Flour Ginger Iris Lilac Melon Olive Plum Rose""",
    """Almond Banner Clover Diamond Elder Fiddle Garlic Heather Jade Lavender Mint Nettle""",
)
EVENT_ENDS = _by_split("Fair Race Contest", "Festival Cup Derby", "Games Regatta Parade")

TRADES = _by_split(
    """painter baker lawyer pilot sailor teacher singer doctor""",
    """tailor miner judge potter""",
    """farmer dentist carpenter dancer barber brewer""",
)
RIVERS = _by_split(
    """Arlen Bourne Cressa Dorrit Elvan Fenna""",
    """Calder Marne Tolka Wenlow""",
    """Isbourne Lomar Riven Sorrel Tavy""",
)
PRODUCTS = _by_split(
    """cheese wool salt pottery clocks wine carpets violins""",
    """bricks cider lace timber""",
    """knives linen paint soap steel sugar""",
)
