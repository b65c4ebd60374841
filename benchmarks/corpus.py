"""What a corpus of a million pairs costs before the first step: memory and processor time.

python -m benchmarks.corpus

The pairs are made: words of letters drawn with the frequencies of natural text (Zipf), as many in a
sentence as in a news text. Each size is measured in a process of its own. Memory is the largest amount
of a process's own memory (VmHWM without pages of files, which the system takes back when it needs them).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.record import save

WORDS = 50_000


def make(folder: Path, pairs: int) -> None:
    """Write `source` and `target`, a sentence a line; some lines are empty, some far too long."""
    draw = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwygpbvk"))
    lengths = draw.integers(2, 11, WORDS)
    words = np.array(["".join(draw.choice(letters, n)) for n in lengths])
    for name in ("source", "target"):
        with (folder / name).open("w", encoding="utf-8") as file:
            for begin in range(0, pairs, 10_000):
                counts = draw.poisson(18, min(10_000, pairs - begin)) + 1
                counts[0], counts[1] = 0, 600
                ranks = np.minimum(draw.zipf(1.3, counts.sum()), WORDS) - 1
                for row in np.split(words[ranks], np.cumsum(counts)[:-1]):
                    file.write(" ".join(row) + "\n")


class Peak:
    """The largest amount of own memory so far, in MB, looked at now and then."""

    def __init__(self) -> None:
        self.most = 0

    def look(self) -> int:
        """Own memory now, in MB."""
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        now = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("RssAnon"))
        self.most = max(self.most, now)
        return now


def measure(folder: Path) -> dict:
    """Learn a vocabulary, encode everything and make the first batches of two epochs."""
    import threading

    from translation import data
    from translation.batches import Batches
    from translation.tokenizer import encode_pairs, learn

    peak, ended = Peak(), threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            peak.look()

    found = {"mb_at_start": peak.look()}
    watcher = threading.Thread(target=watch)
    watcher.start()

    def after(name: str, begun: float) -> None:
        found[name] = {
            "mb_most": peak.most,
            "processor_seconds": round(time.process_time() - begun, 1),
        }
        peak.most = 0

    pairs = data.FilePairs((str(folder / "source"),), (str(folder / "target"),))
    begun = time.process_time()
    tokenizer = learn((text for pair in pairs for text in pair), 8000, "bpe", 100_000)
    after("vocabulary", begun)
    begun = time.process_time()
    rows = encode_pairs(pairs, tokenizer, 250)
    after("pieces", begun)
    begun = time.process_time()
    batches = Batches(lambda epoch: (rows.sources, rows.targets), 8192, 0)
    for epoch in range(2):
        place = epoch * len(batches)
        for n in range(place, place + 100):
            batches[n]
    after("batches", begun)
    ended.set()
    watcher.join()
    return found | {
        "pairs": len(rows.sources),
        "empty": rows.empty,
        "overlong": rows.overlong,
        "batches_an_epoch": len(batches),
    }


def main() -> None:
    """Measure each size in a process of its own and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(Path(arguments.one))))
        return
    sizes = {}
    for pairs in arguments.pairs:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), pairs)
            command = [sys.executable, "-m", "benchmarks.corpus", "--one", folder]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            sizes[pairs] = json.loads(done.stdout)
    save(__file__, {"by_pairs": sizes})


if __name__ == "__main__":
    main()
