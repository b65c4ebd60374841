"""What a run leaves: settings, vocabulary, metrics and checkpoints.

    config.json        the settings
    tokenizer.model    the vocabulary
    metrics.jsonl      one line each time something was measured
    last.pt            everything that it takes to go on
    weights-000500.pt  the weights to translate with, of the last few checkpoints
    best.pt            those of the checkpoint that did best on the validation pairs

Files are written whole or not at all: to a neighbour first, which then takes the file's name.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import pickle
from pathlib import Path

import torch
from torch import nn

from translation import TranslationError
from translation.settings import Settings
from translation.tokenizer import Tokenizer


def write(path: Path, content: bytes) -> None:
    """Write a whole file, or leave the old one as it was.

    Raises:
        TranslationError: the disk is full, or the file cannot be written for another reason.
    """
    neighbour = path.with_name(path.name + ".part")
    try:
        with neighbour.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        neighbour.replace(path)
    except OSError as error:
        neighbour.unlink(missing_ok=True)
        raise TranslationError(
            f"cannot write {path}: {error.strerror}; what was there before is unharmed"
        ) from error


def load_weights(model: nn.Module, weights: dict[str, torch.Tensor], origin: Path) -> None:
    """Put weights into a model.

    Raises:
        TranslationError: names or shapes differ; the message has the first that does.
    """
    own = model.state_dict()
    for name in sorted(own.keys() ^ weights.keys()):
        where = "the model has no" if name in weights else "the checkpoint lacks"
        raise TranslationError(f"{origin} is of another model: {where} {name}")
    for name, value in own.items():
        theirs, ours = tuple(weights[name].shape), tuple(value.shape)
        if theirs != ours:
            raise TranslationError(
                f"{origin} is of another shape: {name} is {theirs} there and {ours} here"
            )
    model.load_state_dict(weights)


def newest(runs: Path) -> Path:
    """The folder of the run that was begun last.

    Raises:
        TranslationError: there is none.
    """
    begun = [path.parent for path in runs.glob("*/config.json")]
    if not begun:
        raise TranslationError(
            f"there is no run in {runs} yet: train one first, or name its folder with --folder"
        )
    return max(begun, key=lambda path: (path / "tokenizer.model").stat().st_mtime_ns)


def unused(runs: Path, name: str) -> Path:
    """A folder for a new run: its name, with a number if there is one of that name."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(runs / one for one in names if not (runs / one / "config.json").exists())


class RunFolder:
    """The folder of one run.

    Args:
        path: where it is or is to be.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.last = self.path / "last.pt"
        self.best = self.path / "best.pt"

    def check_new(self) -> None:
        """Make sure that no run would be overwritten.

        Raises:
            TranslationError: there is a run already.
        """
        if self.last.exists():
            raise TranslationError(
                f"{self.path} already holds a run: --resume goes on with it, "
                f"--folder {unused(self.path.parent, self.path.name)} begins another"
            )

    def create(self, settings: Settings, tokenizer: Tokenizer) -> None:
        """Begin a run.

        Raises:
            TranslationError: there is one already, or nothing can be written.
        """
        self.check_new()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TranslationError(
                f"cannot make {self.path}: {error.strerror}; name another folder with --folder"
            ) from error
        for old in [*self.path.glob("weights-*.pt"), self.path / "metrics.jsonl"]:
            old.unlink(missing_ok=True)
        write(self.path / "tokenizer.model", tokenizer.model)
        self.write_settings(settings)

    def write_settings(self, settings: Settings) -> None:
        """Save the settings."""
        write(self.path / "config.json", (json.dumps(settings.to_json(), indent=1) + "\n").encode())

    def settings(self) -> Settings:
        """The settings of the run.

        Raises:
            TranslationError: there is no run, or its file is broken.
        """
        try:
            stored = json.loads((self.path / "config.json").read_text(encoding="utf-8"))
            return Settings.from_json(stored)
        except OSError as error:
            raise TranslationError(
                f"{self.path} holds no run, since it has no config.json: train one first, or name "
                "another folder with --folder"
            ) from error
        except ValueError as error:
            raise TranslationError(f"{self.path / 'config.json'} is broken: {error}") from error

    def tokenizer(self) -> Tokenizer:
        """The vocabulary of the run."""
        try:
            return Tokenizer((self.path / "tokenizer.model").read_bytes())
        except OSError as error:
            raise TranslationError(f"{self.path} has no tokenizer.model") from error

    def save(self, checkpoint: dict) -> None:
        """Save all that it takes to go on: tensors, numbers and containers of them."""
        self._save(self.last, checkpoint)

    def save_weights(self, step: int, weights: dict, keep: int, best: bool) -> None:
        """Save the weights to translate with, beside those of the keep - 1 checkpoints before.

        Args:
            step: after which they were taken.
            weights: tensors by name.
            keep: how many files remain.
            best: whether they are the best so far.
        """
        paths = [self.path / f"weights-{step:06d}.pt"]
        for path in [*paths, self.best] if best else paths:
            self._save(path, weights)
        for old in self.weights()[:-keep]:
            old.unlink()

    def _save(self, path: Path, content: dict) -> None:
        written = io.BytesIO()
        torch.save(content, written)
        write(path, written.getvalue())

    def weights(self) -> list[Path]:
        """The files of weights, oldest first."""
        return sorted(self.path.glob("weights-*.pt"))

    def read(self, path: Path | None = None) -> dict:
        """The last checkpoint, or another file of weights.

        Raises:
            TranslationError: it is missing, cut short, or not such a file.
        """
        path = path or self.last
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except FileNotFoundError as error:
            reason = (
                "has no best checkpoint, since none was judged on validation pairs: leave out --best"
                if path == self.best
                else f"holds no checkpoint yet, no {path.name}: train it, or name another with --folder"
            )
            raise TranslationError(f"{self.path} {reason}") from error
        except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
            raise TranslationError(f"{path} is cut short or no checkpoint") from error

    def trained_weights(
        self, average: int = 1, best: bool = False
    ) -> tuple[dict[str, torch.Tensor], Path]:
        """The last weights, or the mean of the last few, or the best.

        Args:
            average: how many checkpoints to average.
            best: take those that did best on the validation pairs instead.

        Returns:
            The weights by name, and the newest file that they come from.

        Raises:
            TranslationError: there are not as many.
        """
        if average < 1:
            raise TranslationError(f"--average {average}: at least 1")
        if best:
            return self.read(self.best), self.best
        files = self.weights()[-average:]
        if not files:  # it was interrupted before its first checkpoint was due
            return self.read()["model"], self.last
        if len(files) < average:
            raise TranslationError(
                f"{self.path} has weights of {len(files)} checkpoints, not of {average}: "
                f"--average {len(files)} is the most"
            )
        read = [self.read(path) for path in files]
        mean = {
            name: torch.stack([weights[name].double() for weights in read]).mean(0).to(value.dtype)
            for name, value in read[0].items()
        }
        return mean, files[-1]

    def measured(self) -> list[dict]:
        """All lines of metrics."""
        path = self.path / "metrics.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        # behind the last end of a line is nothing, or a line that was not written to its end
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def add(self, metrics: dict) -> None:
        """Append a line of metrics.

        Raises:
            TranslationError: the disk is full, or the file cannot be written for another reason.
        """
        path = self.path / "metrics.jsonl"
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(metrics) + "\n")
        except OSError as error:
            raise TranslationError(f"cannot write {path}: {error.strerror}") from error

    def forget_after(self, step: int) -> None:
        """Drop the metrics of steps that are done again."""
        kept = [metrics for metrics in self.measured() if metrics["step"] <= step]
        text = "".join(json.dumps(metrics) + "\n" for metrics in kept)
        write(self.path / "metrics.jsonl", text.encode())
