"""The small GPTs of chapter 8: trained by whichever of its pages comes first."""

import torch
from kept import kept

from solutions.small_gpt import GPT, Text, manual
from solutions.small_gpt import train_small as train_anew


def train_small(text: Text, training_seed: int) -> GPT:
    """What `solutions.small_gpt.train_small` returns, trained only once."""
    weights = kept(trained_weights, training_seed)
    model = GPT(len(text.characters))
    model.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    return model.eval()


def trained_weights(training_seed: int) -> dict[str, list]:
    """All parameters of a trained model by their names, as JSON can hold them."""
    model = train_anew(manual(), training_seed)
    return {name: values.tolist() for name, values in model.state_dict().items()}
