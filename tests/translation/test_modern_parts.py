"""RoPE, RMSNorm, SwiGLU and grouped queries in the trainer: chapters 3, 5 and 6 by hand, and small runs."""

import signal
import subprocess
import sys

import pytest
import torch
from torch.nn import functional as F

from solutions.ch3_multi_head import grouped_query_attention, merge_heads, split_heads
from solutions.ch4_masking import causal_mask, from_key_padding
from solutions.ch5_positional_encoding import rope
from tests.support.course import COURSE
from tests.support.small_runs import stopped_after
from translation.__main__ import main
from translation.decoding import CachedDecoder
from translation.model import build, n_parameters
from translation.run_folder import RunFolder
from translation.settings import complete
from translation.tokenizer import BOS, PAD

VOCAB, HEADS, GROUPS, WIDTH = 29, 6, 2, 4
SIZES = {"d_model": HEADS * WIDTH, "heads": HEADS, "layers": 2, "d_ff": 20, "dropout": 0.0}
PARTS = {
    "rope": {"positions": "rope"},
    "rms": {"norm": "rms"},
    "swiglu": {"feed_forward": "swiglu"},
    "groups": {"key_heads": GROUPS},
}
ALL = {name: value for part in PARTS.values() for name, value in part.items()}


def model_of(changed, attention="fused", device="cpu"):
    """A model with random gains and biases, too."""
    torch.manual_seed(3)
    made = build(complete(SIZES | changed), VOCAB, attention, device).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return made


@pytest.fixture
def pair():
    """Sources and targets of different lengths."""
    draw = torch.Generator().manual_seed(4)
    source, target = (torch.randint(4, VOCAB, (3, n), generator=draw) for n in (6, 8))
    source[1, 4:] = source[2, 3:] = PAD
    target[:, 0] = BOS
    return source, target


def normed(x, norm):
    """RMSNorm by its formula."""
    return x / (x.pow(2).mean(dim=-1, keepdim=True) + norm.eps).sqrt() * norm.weight


def gated(x, network):
    """SwiGLU by its formula."""
    gate = network.gate(x)
    return network.linear2(gate * torch.sigmoid(gate) * network.linear1(x))


def attended(layer, x, memory, mask, turn):
    """Grouped queries of chapter 3, turned by RoPE of chapter 5."""
    query = split_heads(layer.w_q(x), HEADS)
    key, value = (split_heads(project(memory), GROUPS) for project in (layer.w_k, layer.w_v))
    if turn:
        places = torch.arange(x.shape[1])
        query, key = rope(query, places), rope(key, places)
    return layer.w_o(merge_heads(grouped_query_attention(query, key, value, mask)[0]))


def by_hand(model, source, target):
    """Logits of a pre-norm model with all four parts."""
    mask = from_key_padding(source == PAD)
    x = model.source_embedding(source) * model.scale
    for layer in model.encoder:
        y = normed(x, layer.norm1)
        x = x + attended(layer.self_attention, y, y, mask, True)
        x = x + gated(normed(x, layer.norm2), layer.feed_forward)
    memory = normed(x, model.encoder_norm)
    x = model.target_embedding(target) * model.scale
    for layer in model.decoder:
        y = normed(x, layer.norm1)
        x = x + attended(layer.self_attention, y, y, causal_mask(y.shape[1]), True)
        x = x + attended(layer.cross_attention, normed(x, layer.norm2), memory, mask, False)
        x = x + gated(normed(x, layer.norm3), layer.feed_forward)
    return F.linear(normed(x, model.decoder_norm), model.project.weight, model.project.bias)


@pytest.mark.parametrize("attention", ["fused", "formula"])
def test_all_four_together_are_the_formulas(pair, attention):
    model = model_of(ALL, attention)
    torch.testing.assert_close(model(*pair), by_hand(model, *pair), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("changed", [*PARTS.values(), ALL], ids=[*PARTS, "all"])
def test_a_cache_gives_the_logits_of_the_full_pass(pair, changed, fixed, device):
    source, target = pair
    model = model_of(changed, device=device)
    with torch.inference_mode():
        decoder = CachedDecoder(model, source, 1, target.shape[1], fixed)
        steps = [decoder(target[:, t, None]) for t in range(target.shape[1])]
        torch.testing.assert_close(torch.cat(steps, dim=1), model(source, target))


def test_a_cache_of_groups_is_smaller(pair):
    source, target = pair
    sizes = []
    for changed in ({}, PARTS["groups"]):
        decoder = CachedDecoder(model_of(changed), source, 1, 8)
        decoder(target[:, :1])
        sizes.append(sum(x.numel() for cache in decoder.caches for x in cache))
    assert sizes[0] == HEADS // GROUPS * sizes[1]


def test_parameters_are_counted_by_hand():
    d, f, layers = HEADS * WIDTH, SIZES["d_ff"], SIZES["layers"]
    plain = n_parameters(model_of({}))
    n_norms = 2 * layers + 3 * layers + 2
    changes = {
        "rope": 0,
        "rms": -n_norms * d,
        "swiglu": 2 * layers * (d * f + f),
        "groups": -3 * layers * 2 * (d + 1) * (d - GROUPS * WIDTH),
    }
    for name, change in changes.items():
        assert n_parameters(model_of(PARTS[name])) - plain == change, name


def command(run, steps, changed):
    """The arguments of a small run on number words."""
    sizes = {"vocab_size": 80, "d_model": 16, "heads": 4, "layers": 1, "d_ff": 32, "tokens": 250}
    given = sizes | {"examples": 200, "held_out": 20, "save_every": 20, "warmup": 4, "rate": 0.01}
    words = [
        f"--{n.replace('_', '-')}={v}" for n, v in (given | changed | {"steps": steps}).items()
    ]
    return ["train", "--folder", str(run), "--device=cpu", "--threads=1", "--log-every=1", *words]


@pytest.mark.parametrize("changed", [*PARTS.values(), ALL], ids=[*PARTS, "all"])
def test_a_run_on_number_words_learns_resumes_and_translates(tmp_path, capsys, changed):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main(command(whole, 40, changed)) == 0
    losses = [line["loss"] for line in RunFolder(whole).measured() if "loss" in line]
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
    with stopped_after(1, signal.SIGTERM):
        assert main(command(parts, 40, changed)) == 130
    assert RunFolder(parts).read()["step"] == 1
    assert main(["train", "--resume", "--folder", str(parts), "--device=cpu", "--threads=1"]) == 0
    one, other = (RunFolder(run).read()["model"] for run in (whole, parts))
    assert all(torch.equal(one[name], other[name]) for name in one)
    capsys.readouterr()
    assert main(["translate", "--folder", str(whole), "--device=cpu", "--beam=2", "twenty"]) == 0
    # after so few steps it may be empty
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train", "--heads=3"], "--heads 3 does not divide --d-model 128"),
        (["train", "--task=multi30k"], "needs --data FOLDER"),
        (["translate", "--beam=0", "one"], "--beam 0: at least 1"),
    ],
)
def test_wrong_options_are_told_before_anything_is_loaded(words, told):
    program = (
        "import sys; from translation.__main__ import main; status = main(sys.argv[1:]); "
        "sys.exit(9 if 'torch' in sys.modules else status)"
    )
    run = [sys.executable, "-c", program, *words]
    ended = subprocess.run(run, cwd=COURSE.root, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, told in ended.stderr) == (1, True), ended.stderr
