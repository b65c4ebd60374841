"""The translators of chapter 1: trained by whichever of its pages comes first, and what they compute."""

import torch
from kept import kept

from solutions.encoder_decoder import START, EncoderDecoder, OneVector
from solutions.number_words import NumberWords
from solutions.number_words import train_translator as train_anew

NETWORKS = {"attention": EncoderDecoder, "one vector": OneVector}


def train_translator(network: type[EncoderDecoder], training_seed: int) -> EncoderDecoder:
    """What `solutions.number_words.train_translator` returns, trained only once."""
    (kind,) = (name for name, known in NETWORKS.items() if known is network)
    kept_weights = kept(trained_weights, kind, training_seed)
    weights = {name: torch.tensor(values) for name, values in kept_weights.items()}
    model = network(len(weights["embed_source.weight"]), len(weights["embed_target.weight"]))
    model.load_state_dict(weights)
    return model


def trained_weights(kind: str, training_seed: int) -> dict[str, list]:
    """All parameters of a trained network by their names, as JSON can hold them."""
    model = train_anew(NETWORKS[kind], training_seed)
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
