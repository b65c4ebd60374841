"""An n-gram model of characters with Kneser-Ney smoothing."""

# Pages show this code, in a column of 72 characters.
# fmt: off
from collections import Counter, defaultdict


class KneserNey:
    """Counts of runs of characters, and what they say comes next.

    Source: Kneser and Ney (1995), interpolated as Chen and Goodman
    (1999) do it, with one discount for runs of all lengths.

    Attributes:
        counts: by the length of a run, from 1, then by all of its
            characters but the last: how often each last one occurs.
        kinds: the same, but in how many longer runs of one character
            more, each counted once.
    """

    def __init__(
        self, words: str, longest: int, characters: str
    ) -> None:
        """Count the runs of up to `longest` characters in a text.

        characters: the vocabulary, to which all of words belong.

        Raises:
            ValueError: the text has no run of that length.
        """
        if not 1 <= longest <= len(words):
            raise ValueError(
                f"a text of {len(words)} has no runs of {longest}"
            )
        self.characters = characters
        self.counts, self.kinds = [], []
        for n in range(1, longest + 1):
            counts = defaultdict(Counter)
            for i in range(n - 1, len(words)):
                counts[words[i - n + 1 : i]][words[i]] += 1
            self.counts.append(dict(counts))
        for longer in self.counts[1:]:
            kinds = defaultdict(Counter)
            for before, seen in longer.items():
                kinds[before[1:]].update(seen.keys())
            self.kinds.append(dict(kinds))

    def probability(
        self, before: str, character: str, order: int, discount: float
    ) -> float:
        """How likely a character is after others.

        Args:
            before: at least order - 1 characters.
            character: one of the vocabulary.
            order: length of the longest runs that are looked up.
            discount: what a run is counted less than it occurs, from
                0 to 1, and the next shorter one gets.
        """
        p = 1 / len(self.characters)
        for n in range(1, order + 1):
            table = (self.counts if n == order else self.kinds)[n - 1]
            seen = table.get(before[len(before) - n + 1 :])
            # nor has anything followed a longer run
            if seen is None:
                break
            kept = max(seen[character] - discount, 0)
            p = (kept + discount * len(seen) * p) / seen.total()
        return p
