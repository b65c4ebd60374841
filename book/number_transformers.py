"""The trained models of chapter 7: trained by whichever of its pages comes first."""

import inspect
from typing import Any

import torch
from kept import kept

from book.models.number_transformer import Run, new_model
from book.models.number_transformer import train as train_anew


def train(training_seed: int, **recipe: Any) -> Run:
    """What `book.models.number_transformer.train` returns, trained only once."""
    return as_run(kept(trained, training_seed, without_defaults(recipe)))


def without_defaults(recipe: dict[str, Any]) -> dict[str, Any]:
    """The part of a recipe that isn't the default, so that a training is kept under one name only."""
    known = inspect.signature(train_anew).parameters
    return {name: value for name, value in recipe.items() if value != known[name].default}


def trained(training_seed: int, recipe: dict[str, Any]) -> dict[str, Any]:
    """A training as JSON can hold it."""
    run = train_anew(training_seed, **recipe)
    return {
        "weights": {name: p.tolist() for name, p in run.model.named_parameters()},
        "losses": run.losses,
        "norms": run.norms,
    }


def as_run(found: dict[str, Any]) -> Run:
    """The training that `trained` wrote down."""
    model = new_model()
    # the table of positions is no parameter
    weights = {name: torch.tensor(values) for name, values in found["weights"].items()}
    model.load_state_dict(model.state_dict() | weights)
    return Run(model.eval(), found["losses"], found["norms"])
