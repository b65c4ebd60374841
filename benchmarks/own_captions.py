"""English sentences of our own in the style of image captions, and the German that we accept for them.

They are written as in the `lc.norm.tok` files of Multi30k: lower case, tokens separated by spaces. What is
accepted for a phrase is a regular expression of whole tokens. " ... " in it stands for any tokens between
two parts, and a full stop or a comma in it says where a verb has to stand.

A right translation in words that nobody thought of counts as different, as it does for BLEU.
"""

from __future__ import annotations

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Caption:
    """A sentence; what it tests, and the phrase that shows it ("" = all); what is accepted for each phrase,
    in German, the first expression that matches."""

    english: str
    tests: str
    shown_by: str
    accepted: dict[str, tuple[str, ...]]


def verdicts(caption: Caption, german: str) -> tuple[dict[str, bool], list[str]]:
    """What of a translation is as accepted.

    Args:
        caption: the sentence.
        german: its translation, tokens separated by spaces.

    Returns:
        Whether each phrase has an accepted translation, and the tokens, without full stops and commas,
        that belong to none of these.
    """
    covered: set[int] = set()
    found = {}
    for phrase, expressions in caption.accepted.items():
        places = next(filter(None, (_places(one, german) for one in expressions)), None)
        found[phrase] = places is not None
        covered.update(places or ())
    tokens = [(token.start(), token[0]) for token in re.finditer(r"\S+", german)]
    return found, [token for place, token in tokens if place not in covered and token not in ".,"]


def _places(expression: str, german: str) -> set[int] | None:
    """The places of the letters that an expression's parts cover, or None if it doesn't match."""
    parts = [
        rf"(?<!\S)(?P<part{n}>{part})(?!\S)" for n, part in enumerate(expression.split(" ... "))
    ]
    match = re.search(".*?".join(parts), german)
    if match is None:
        return None
    return {place for n in range(len(parts)) for place in range(*match.span(f"part{n}"))}


CAPTIONS = (
    Caption(
        "a small brown dog is chasing a yellow ball across the lawn .",
        "everyday words",
        "",
        {
            "a small brown dog": ("ein kleiner(?: ,)? brauner hund",),
            "is chasing": (
                "(?:jagt|läuft|rennt) ... (?:hinterher|nach)",
                "jagt|verfolgt",
            ),
            "a yellow ball": ("einen gelben ball", "einem gelben ball ... (?:hinterher|nach)"),
            "across the lawn": (
                "über (?:den|einen) rasen",
                "über (?:die|eine) (?:wiese|rasenfläche|grasfläche)",
                "über das gras",
            ),
        },
    ),
    Caption(
        "two girls are sharing a big umbrella in the rain .",
        "everyday words",
        "",
        {
            "two girls": ("zwei mädchen",),
            "are sharing": ("teilen sich", "teilen"),
            "a big umbrella": ("einen (?:großen|riesigen) (?:regenschirm|schirm)",),
            "in the rain": ("(?:im|bei) regen",),
        },
    ),
    Caption(
        "a woman in a green dress is selling oranges at a market stall .",
        "everyday words",
        "",
        {
            "a woman": ("eine frau",),
            "in a green dress": ("(?:in|mit) einem grünen kleid", "im grünen kleid"),
            "is selling": ("verkauft",),
            "oranges": ("orangen|apfelsinen",),
            "at a market stall": ("an einem (?:marktstand|stand auf (?:dem|einem) markt)",),
        },
    ),
    Caption(
        "a boy gives his little sister a piece of chocolate cake .",
        "the dative, for the one who gets something",
        "his little sister",
        {
            "a boy": ("ein junge",),
            "gives": ("gibt",),
            "his little sister": ("seiner (?:kleinen|jüngeren) schwester",),
            "a piece of chocolate cake": (
                "ein stück (?:schokoladenkuchen|schokoladentorte|schokokuchen)",
            ),
        },
    ),
    Caption(
        "an old man is sleeping on a bench while his dog watches the pigeons .",
        "the verb at the end of a clause",
        "watches",
        {
            "an old man": ("ein (?:alter|älterer) mann",),
            "is sleeping": ("schläft",),
            "on a bench": ("auf einer (?:bank|parkbank)",),
            "while his dog": (", während sein hund",),
            "the pigeons": ("die tauben", "den tauben ... zusieht"),
            "watches": (r"(?:beobachtet|ansieht|anschaut|zusieht|betrachtet) \.",),
        },
    ),
    Caption(
        "a man is trying to open a glass bottle with his teeth .",
        "the infinitive at the end",
        "to open",
        {
            "a man": ("ein mann",),
            "is trying": ("versucht",),
            "a glass bottle": ("eine (?:glasflasche|flasche aus glas)",),
            "with his teeth": ("mit (?:seinen|den) zähnen",),
            "to open": (r"(?:zu öffnen|aufzumachen) \.",),
        },
    ),
    Caption(
        "the children who are playing behind the old barn are wearing red boots .",
        "a clause inside a sentence, with its verb at its end",
        "who are playing",
        {
            "the children": ("die kinder",),
            "who are playing": (", die ... spielen ,",),
            "behind the old barn": ("hinter der alten scheune",),
            "are wearing": ("tragen",),
            "red boots": ("rote stiefel",),
        },
    ),
    Caption(
        "the boys next to the tall woman with the camera are laughing .",
        "a plural verb, far from its subject",
        "are laughing",
        {
            "the boys": ("die (?:jungen|jungs|buben)",),
            "next to the tall woman": ("neben der (?:großen|hochgewachsenen) frau",),
            "with the camera": ("mit der kamera", "mit dem fotoapparat"),
            "are laughing": ("lachen",),
        },
    ),
    Caption(
        "no one is sitting on the red chairs .",
        "a negation",
        "no one",
        {
            "no one": ("niemand|keiner",),
            "is sitting": ("sitzt",),
            "on the red chairs": ("auf den roten (?:stühlen|sesseln)",),
        },
    ),
    Caption(
        "a plumber is lying under a kitchen sink .",
        "a rare word",
        "a plumber",
        {
            "a plumber": ("ein (?:klempner|installateur|sanitärinstallateur)",),
            "is lying": ("liegt",),
            "under a kitchen sink": (
                "unter (?:einer|der) (?:spüle|küchenspüle)",
                "unter (?:einem|dem) (?:spülbecken|küchenwaschbecken)",
            ),
        },
    ),
    Caption(
        "a hedgehog is crossing a quiet street at night .",
        "a word that the training data lacks",
        "a hedgehog",
        {
            "a hedgehog": ("ein igel",),
            "is crossing": ("überquert", "geht ... über"),
            "a quiet street": ("eine (?:ruhige|stille) straße",),
            "at night": ("nachts|bei nacht|in der nacht",),
        },
    ),
    Caption(
        "the committee has postponed its decision until next week .",
        "another domain",
        "",
        {
            "the committee": ("der ausschuss|das komitee|die kommission|das gremium",),
            "has postponed": (r"hat ... (?:verschoben|vertagt) \.",),
            "its decision": ("(?:seine|ihre) entscheidung",),
            "until next week": ("(?:auf|bis) (?:die )?(?:nächste|kommende) woche",),
        },
    ),
)

# the sentence whose cross-attention is shown, and the counterparts of words that occur once in it
MAPPED = CAPTIONS[4].english
COUNTERPARTS = {
    "alter": "old",
    "älterer": "old",
    "mann": "man",
    "schläft": "sleeping",
    "bank": "bench",
    "parkbank": "bench",
    "während": "while",
    "sein": "his",
    "hund": "dog",
    "tauben": "pigeons",
    "beobachtet": "watches",
    "betrachtet": "watches",
    "zusieht": "watches",
}
