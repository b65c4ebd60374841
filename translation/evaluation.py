"""How good translations are: exact match, and BLEU and chrF as sacreBLEU computes them."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest, Result

from translation.settings import TaskSettings


def exact_match(written: Sequence[str], references: Sequence[str]) -> float:
    """The percentage of translations that are the reference, letter by letter."""
    hits = sum(one == other for one, other in zip(written, references, strict=True))
    return 100 * hits / len(references)


def bleu(
    written: Sequence[str], references: Sequence[str], tokenize: str, lowercase: bool = False
) -> tuple[float, str]:
    """BLEU (Papineni et al. 2002) and the signature that says how it was computed (Post 2018).

    Args:
        written: translations.
        references: one for each.
        tokenize: "13a" for plain text, "none" for text whose tokens are separated by spaces.
        lowercase: whether to ignore case.

    Returns:
        The score, 0 to 100, and the signature.
    """
    found = bleu_in_full(written, references, tokenize, lowercase)
    return found["bleu"], found["signature"]


def bleu_in_full(
    written: Sequence[str], references: Sequence[str], tokenize: str, lowercase: bool = False
) -> dict:
    """BLEU as in `bleu`, with its parts.

    Returns:
        "bleu"; "precisions" of 1-grams to 4-grams, in percent; "brevity_penalty", the factor for
        translations that are too short, 1 if they are not; "length" and "reference_length" of all
        sentences together, in tokens; "signature".
    """
    # `force` keeps sacreBLEU from warning that text looks tokenised where it is meant to be
    metric = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    score = metric.corpus_score(list(written), [list(references)])
    return {
        "bleu": score.score,
        "precisions": score.precisions,
        "brevity_penalty": score.bp,
        "length": score.sys_len,
        "reference_length": score.ref_len,
        "signature": metric.get_signature().format(),
    }


def chrf(written: Sequence[str], references: Sequence[str]) -> dict:
    """chrF (Popović 2015), which compares runs of letters instead of words.

    Returns:
        "chrf", 0 to 100, and "chrf_signature".
    """
    metric = CHRF()
    score = metric.corpus_score(list(written), [list(references)])
    return {"chrf": score.score, "chrf_signature": metric.get_signature().format()}


def against(
    written: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    settings: TaskSettings,
    samples: int = 1000,
) -> dict:
    """Whether the difference of two systems' BLEU is more than chance: the paired bootstrap (Koehn 2004), as
    sacreBLEU computes it.

    Args:
        written: translations.
        others: those of the other system, of the same sentences.
        references: one for each.
        settings: those of the run.
        samples: how many test sets to draw.

    Returns:
        "bleu_of_other"; "difference", positive if these translations are better; "p_value", how often chance
        alone gives a difference as large; "signature".
    """
    metric = BLEU(tokenize="none" if _tokenised(settings) else "13a", force=True)
    systems: list[tuple[str, Sequence[str]]] = [("other", others), ("this", written)]
    test = PairedTest(systems, {"BLEU": metric}, [list(references)], "bs", samples)
    signatures, found = test()
    other, this = (one for one in found["BLEU"] if isinstance(one, Result))
    difference = this.score - other.score
    return {
        "bleu_of_other": other.score,
        "difference": difference,
        # sacreBLEU counts what is larger than the difference, and 0 isn't larger than 0
        "p_value": this.p_value if difference else 1.0,
        "signature": signatures["BLEU"].format(),
    }


def detokenise(text: str) -> str:
    """Undo the tokenisation of `lc.norm.tok` files, which is that of Moses (Koehn et al. 2007).

    Args:
        text: tokens separated by spaces, with entities such as &quot;.

    Returns:
        Plain text, in lower case as it came.
    """
    text = html.unescape(text).replace(" @-@ ", "-")
    text = re.sub(r" (?='(?:s|t|m|d|re|ve|ll)\b)", "", text)
    text = re.sub(r" (?=[.,!?;:%)\]}])", "", text)
    text = re.sub(r"(?<=[(\[{]) ", "", text)
    return re.sub(r'" ([^"]*) "', r'"\1"', text)


def quality(
    written: Sequence[str], references: Sequence[str], settings: TaskSettings
) -> tuple[str, float]:
    """The one number by which checkpoints are compared, and its name: "exact_match" of numbers, "bleu"
    of text, on the tokens as they are if the task's files are tokenised."""
    if settings.task == "numbers":
        return "exact_match", exact_match(written, references)
    return "bleu", bleu(written, references, "none" if _tokenised(settings) else "13a")[0]


def _tokenised(settings: TaskSettings) -> bool:
    """Whether the text in the task's files is tokenised."""
    return settings.task == "multi30k" and settings.text != "raw"


def scores(written: Sequence[str], references: Sequence[str], settings: TaskSettings) -> dict:
    """All that says how good the translations of a run are.

    Args:
        written: translations.
        references: one for each.
        settings: those of the run.

    Returns:
        "sentences" and "exact_match"; unless the task is numbers, also "bleu" on plain text with its parts,
        as in `bleu_in_full`, and "chrf". Of text that is tokenised in its files, "bleu_tokenised" is the
        score on the tokens as they are, and its parts end in "_tokenised", too; the plain text is in lower
        case then.
    """
    found: dict = {"sentences": len(references), "exact_match": exact_match(written, references)}
    if settings.task == "numbers":
        return found
    tokenised = _tokenised(settings)
    if tokenised:
        on_tokens = bleu_in_full(written, references, "none")
        found |= {f"{name}_tokenised": value for name, value in on_tokens.items()}
        written, references = (list(map(detokenise, texts)) for texts in (written, references))
    return found | bleu_in_full(written, references, "13a", tokenised) | chrf(written, references)
