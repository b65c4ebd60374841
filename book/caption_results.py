"""What benchmarks have stored about training on Multi30k, for the page about it."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from translation.evaluation import detokenise
from translation.settings import OPTIONS, complete

RESULT = "book/measured/captions.json"
# of one run that was stopped after an hour
HOUR = "benchmarks/multi30k_en_de_hour.json"
# of a model of the same size, trained before without teachers
ALONE = "benchmarks/multi30k_en_de_without_teachers.json"
# of students beside runs without teachers
DISTILLATION = "benchmarks/distillation.json"
# of the published recipe as it is, on a GPU
PUBLISHED = "book/measured/multi30k_en_de_published.json"
# of short runs that differ from one another in one setting
ABLATION = "benchmarks/ablation.json"
# how fast two training processes are beside two threads
PROCESSES = "book/measured/processes.json"

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
    """A model of a real language pair; measured: the file's content."""

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

    def curve(self, name: str) -> np.ndarray:
        """The values of one column of the curve, such as "processor_minutes"."""
        return np.array([point[name] for point in self.measured["run"]["curve"]])

    def continued_at(self) -> list[int]:
        """The points of the curve (indices) at which one run ended and the next took over its weights."""
        return np.flatnonzero(np.diff(self.curve("run"))).tolist()

    def settings(self) -> list[dict[str, Any]]:
        """The settings of each run that the model needed, and of its own, the last."""
        run = self.measured["run"]
        return [*run["settings_of_earlier_runs"], run["settings"]]

    def commands(self) -> list[str]:
        """The trainer's command for each of these runs."""
        runs = self.settings()
        if len(runs) == 1:
            return [_command(runs[0], [])]
        return [
            _command(settings, [f"--folder runs/pair{number}"])
            for number, settings in enumerate(runs, 1)
        ]


@dataclass(frozen=True)
class Variant:
    """A recipe that differs from the reference in one setting; BLEU and loss are of the validation pairs.

    bleu (with a beam of 5), greedy and loss (nats a piece) are means over its runs, of which there is one
    for each seed; each_bleu are those of each run.
    """

    name: str
    changed: str
    bleu: float
    greedy: float
    loss: float
    each_bleu: tuple[float, ...]
    steps: int


@dataclass(frozen=True)
class Ablation:
    """Short runs of as many tokens each: the reference recipe and its variants, the best BLEU first."""

    tokens: float
    reference: Variant
    variants: list[Variant]

    def gain(self, variant: Variant) -> float:
        """By how much its BLEU is above the reference's."""
        return variant.bleu - self.reference.bleu

    def named(self, name: str) -> Variant:
        """The variant with this name."""
        (found,) = [one for one in self.variants if one.name == name]
        return found


@dataclass(frozen=True)
class Comparison:
    """A run without teachers and one that differs from it in nothing else; scores of the validation pairs.

    plain, student: BLEU with a beam of 5, greedy BLEU, and loss in nats a piece, of each.
    """

    dropout: float
    weight: float
    steps: int
    plain: tuple[float, float, float]
    student: tuple[float, float, float]


@dataclass(frozen=True)
class Distillation:
    """Students beside runs without teachers; the losses (nats a piece) are of the validation pairs."""

    comparisons: list[Comparison]
    teachers: list[float]
    mean_of_teachers: float


def _command(settings: dict[str, Any], more: list[str]) -> str:
    """The trainer's command with every setting that is no default, and more options."""
    usual = complete({"task": settings["task"]}).to_json()
    many = settings["processes"]
    program = f"torchrun --nproc-per-node {many}" if many > 1 else "python"
    words = [f"{program} -m translation train"]
    words += [f"--task {settings['task']}", "--data DIR"]
    words += more
    for name, value in settings.items():
        if name in OPTIONS and value != usual[name]:
            option = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            elif isinstance(value, list):
                words += [f"--{option} {value[0]}", *value[1:]]
            else:
                words.append(f"--{option} {value}")
    # a line may end between the values of an option, but not before the first one
    lines = textwrap.wrap(
        " ".join(word.replace(" ", "\N{NO-BREAK SPACE}") for word in words),
        66,
        break_on_hyphens=False,
        subsequent_indent="    ",
    )
    return " \\\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def measured_run() -> Run:
    """The result of the model that the page shows."""
    return Run(_stored(RESULT))


def hour_run() -> Run:
    """The result of a run that was stopped after an hour, of which there are no captions."""
    return _without_captions(HOUR)


def published_run() -> dict[str, Any]:
    """The results of the published recipe with three seeds."""
    return _stored(PUBLISHED)


def alone_run() -> Run:
    """The result of a model of the same size without teachers, of which the page shows no captions."""
    return _without_captions(ALONE)


def ablation() -> Ablation:
    """What each part of the recipe is worth, on a small budget."""
    stored = _stored(ABLATION)
    found = []
    for name, one in stored["variants"].items():
        runs = one["runs"]
        bleu, greedy, loss = (
            tuple(run[column] for run in runs)
            for column in ("valid_bleu", "greedy_valid_bleu", "valid_loss")
        )
        means = [float(np.mean(column)) for column in (bleu, greedy, loss)]
        values: list[Any] = [*means, bleu, runs[0]["steps"]]
        found.append(Variant(name, " ".join(one["changed"]), *values))
    reference, *variants = found
    variants.sort(key=lambda one: one.bleu, reverse=True)
    return Ablation(stored["tokens_of_a_run"], reference, variants)


def distillation() -> Distillation:
    """What teachers are worth."""
    stored = _stored(DISTILLATION)
    columns = ("valid_bleu", "greedy_valid_bleu", "valid_loss")
    comparisons = [
        Comparison(
            one["dropout"],
            one["distill_weight"],
            one["plain"]["steps"],
            *(tuple(one[kind][column] for column in columns) for kind in ("plain", "student")),
        )
        for one in stored["comparisons"]
    ]
    return Distillation(
        comparisons, stored["valid_loss_of_teachers"], stored["valid_loss_of_their_mean"]
    )


def processes() -> dict[str, float]:
    """Target tokens a second of one thread, two threads and two processes with a thread each."""
    return _stored(PROCESSES)["tokens_per_second"]


def _without_captions(name: str) -> Run:
    """The result of one run that `benchmarks/multi30k.py` has written; name: the file's."""
    (run,) = _stored(name)["runs"]
    return Run({"run": run})


def _stored(name: str) -> dict[str, Any]:
    """What a benchmark has written; name: the file's, from the course's folder."""
    return json.loads((Path(__file__).parent.parent / name).read_text(encoding="utf-8"))
