"""The translators of chapter 1: trained by whichever of its pages comes first, and what they compute."""

import numpy as np
import torch
from kept import kept

from book.models.encoder_decoder import START, EncoderDecoder, shift_right
from book.models.number_words import NumberWords
from book.models.number_words import train_translator as train_anew


def train_translator(network: type[EncoderDecoder], training_seed: int) -> EncoderDecoder:
    """What `book.models.number_words.train_translator` returns for the network with attention, trained only once."""
    kept_weights = kept(trained_weights, training_seed)
    weights = {name: torch.tensor(values) for name, values in kept_weights.items()}
    model = network(len(weights["embed_source.weight"]), len(weights["embed_target.weight"]))
    model.load_state_dict(weights)
    return model


def trained_weights(training_seed: int) -> dict[str, list]:
    """All parameters of a trained network by their names, as JSON can hold them."""
    model = train_anew(EncoderDecoder, training_seed)
    return {name: values.tolist() for name, values in model.state_dict().items()}


@torch.no_grad()
def decoder_trace(model: EncoderDecoder, data: NumberWords, n: int) -> dict[str, list]:
    """All that happens while a model translates a number, in the words of `widgets.decoder_steps`.

    Returns:
        state (T, H) before each word, scores (T, S), weights (T, S), context (T, Dv), and the three
        likeliest words of each step with their probabilities.
    """
    source, target = data.as_tensors([n])
    memory, mask, state = model.encode(source)
    word = torch.tensor([START])
    layers = model.step.attention
    trace: dict[str, list] = {
        name: [] for name in ("state", "scores", "weights", "context", "likely")
    }
    for _ in range(target.shape[1]):
        hidden = torch.tanh(layers.w_q(state)[:, None] + layers.w_k(memory))  # (1, S, A)
        trace["state"].append(state[0].tolist())
        trace["scores"].append(layers.v(hidden)[0, :, 0].tolist())
        state, context, weights = model.step(model.embed_target(word), state, memory, mask)
        likely = model.readout(torch.cat([state, context], dim=-1)).softmax(dim=-1)[0].topk(3)
        word = likely.indices[:1]
        trace["weights"].append(weights[0].tolist())
        trace["context"].append(context[0].tolist())
        words = [data.target_words[i] for i in likely.indices.tolist()]
        trace["likely"].append(list(zip(words, likely.values.tolist(), strict=True)))
    return trace


@torch.no_grad()
def next_word_parts(model: EncoderDecoder, data: NumberWords, n: int) -> dict[str, np.ndarray]:
    """All that the decoder's rows need to be computed with other weights, for `widgets.next_word`.

    Returns:
        gates (S, 3H), what each encoder state adds to the cell's gates; inputs (T, 3H), what the word
        before adds; hidden (T, 3H) and states (T, H) of the state before; read_states (V, H) and
        read_values (S, V), the readout of the new state and of each encoder state, with its bias.
    """
    source, target = data.as_tensors([n])
    memory, mask, state = model.encode(source)
    cell, readout = model.step.cell, model.readout
    read = model.embed_target(shift_right(target))[0]  # (T, E)
    n_embed, n_state = read.shape[1], state.shape[1]
    states = []
    for embedded in read:
        states.append(state[0])
        state, _, _ = model.step(embedded[None], state, memory, mask)
    before = torch.stack(states)
    parts = {
        "gates": memory[0] @ cell.weight_ih[:, n_embed:].T,
        "inputs": read @ cell.weight_ih[:, :n_embed].T + cell.bias_ih,
        "hidden": before @ cell.weight_hh.T + cell.bias_hh,
        "states": before,
        "read_states": readout.weight[:, :n_state],
        "read_values": memory[0] @ readout.weight[:, n_state:].T + readout.bias,
    }
    return {name: part.numpy() for name, part in parts.items()}
