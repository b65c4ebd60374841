"""What benchmarks have stored about training on Multi30k, for the page about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translation.evaluation import detokenise

MEASURED = Path(__file__).parent / "measured"

# What words of the model say that belong to no accepted phrase, for readers without German. After a new
# measurement, others may be wanted; words that aren't here are shown as they are.
IN_ENGLISH: dict[str, str] = {
    "hält sein kleines stück schokoladeneis": "holds his little piece of chocolate ice",
    "hinter der alten bar spielen rote stiefeln": "behind the old bar play red boots",
    "neben der hohen frau": "beside the high woman",
    "eine ohne auf roten stühlen": "one without on red chairs",
    "ein flieger unter einem waschbecken": "an airman under a washbasin",
    "ein gescheckter hund": "a piebald dog",
    "die punktion hat seine punktion an dass er neben wirkelt ist": "the puncture has on his puncture "
    "that he beside (no word) is",
}


@dataclass(frozen=True)
class Sentence:
    """One of our own sentences; measured: what the file says about it."""

    measured: dict[str, Any]

    @property
    def english(self) -> str:
        """The sentence as plain text."""
        return detokenise(self.measured["english"])

    @property
    def german(self) -> str:
        """What the model makes of it, as plain text."""
        return detokenise(self.measured["german"])

    @property
    def missing(self) -> list[str]:
        """The English phrases whose translation is none of those that we accept."""
        return [phrase for phrase, accepted in self.measured["phrases"].items() if not accepted]

    @property
    def left_over(self) -> str:
        """The German words that belong to no accepted phrase."""
        return detokenise(" ".join(self.measured["left_over"]))

    @property
    def right(self) -> bool:
        """Whether each phrase is as accepted and no word is left over."""
        return not self.missing and not self.left_over

    @property
    def shows_it(self) -> bool:
        """Whether what the sentence tests is right: one phrase of it, or all."""
        phrase = self.measured["shown_by"]
        return phrase not in self.missing if phrase else self.right

    @property
    def in_english(self) -> str:
        """A sentence on what the words that are left over mean, or nothing if nobody has written it down."""
        meaning = IN_ENGLISH.get(self.left_over)
        return f" What is wrong there says \u201c{meaning}\u201d in English." if meaning else ""

    def row(self) -> list[str]:
        """The sentence, its translation, what isn't as accepted, and what the sentence tests."""
        instead = self.left_over
        if meaning := IN_ENGLISH.get(instead):
            instead += f", \u201c{meaning}\u201d"
        different = ", ".join(self.missing) + (f" ({instead})" if instead else "")
        return [self.english, self.german, different.strip() or "none", self.measured["tests"]]


@dataclass(frozen=True)
class Run:
    """A model of a real language pair, and what it made of our sentences; measured: the file's content."""

    measured: dict[str, Any]

    @property
    def sentences(self) -> list[Sentence]:
        """Our own sentences, in the file's order."""
        return [Sentence(one) for one in self.measured["sentences"]]

    def testing(self, what: str) -> Sentence:
        """The sentence that tests something."""
        (found,) = [one for one in self.sentences if one.measured["tests"] == what]
        return found

    def phrases(self) -> tuple[int, int]:
        """How many phrases of all sentences are as accepted, and how many there are."""
        verdicts = [
            accepted for one in self.sentences for accepted in one.measured["phrases"].values()
        ]
        return sum(verdicts), len(verdicts)

    def new_words(self) -> list[str]:
        """The words that the model writes and no German sentence of the data set has."""
        found = (word for one in self.sentences for word in one.measured["words_new_to_data"])
        return list(dict.fromkeys(found))

    def nearest(self) -> float:
        """The largest share of a sentence's 4-grams that one sentence of the data set has."""
        found = (one.measured["nearest"] for one in self.sentences)
        return max(one["most_shared"] / one["four_grams"] for one in found)


def measured_run() -> Run:
    """The model whose captions the page shows."""
    return Run(_stored("captions"))


def published_run() -> dict[str, Any]:
    """The results of the published recipe with three seeds."""
    return _stored("multi30k")


def _stored(name: str) -> dict[str, Any]:
    """What a benchmark has written."""
    return json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
