"""Whole kinds of mistakes lose a point, whichever answer has them and whether or not the catalogue does."""

import functools
import inspect

import pytest
import torch
from torch import nn

from autograder.programs import spans_of
from autograder.reference import namespace_of
from tests.support.course import COURSE
from tests.support.numbers import lines_of

# as in a class
DRAWS = range(3)


@functools.cache
def lines(exercise, answer):
    """An answer's own lines, on the draws that a class has."""
    return list(lines_of(exercise, answer, DRAWS))


def loses(exercise, answer, wrong):
    """Whether an answer's own lines catch a wrong version of it."""
    names = {**namespace_of(exercise.program()), answer: wrong}
    return any(line.problem(names) for line in lines(exercise, answer))


def answers():
    """(exercise, answer, what it is) of all answers."""
    for exercise in COURSE.exercises():
        names = namespace_of(exercise.program())
        for answer in spans_of(exercise.program()):
            yield exercise, answer, names[answer]


def modules():
    return [
        pytest.param(exercise, answer, kind, id=f"{exercise.name}-{answer}")
        for exercise, answer, kind in answers()
        if isinstance(kind, type) and issubclass(kind, nn.Module)
    ]


def replaced(kind, method, wrapper):
    """A subclass whose method is wrapped."""
    return type(kind.__name__, (kind,), {method: wrapper(getattr(kind, method))})


def floating(value, change):
    """A result with all its floating tensors changed."""
    if isinstance(value, tuple):
        return tuple(floating(item, change) for item in value)
    return change(value) if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize(("task", "answer", "kind"), modules())
def test_dropout_in_training_that_nobody_asked_for(task, answer, kind):
    def dropping(method):
        def forward(self, *given, **named):
            result = method(self, *given, **named)
            drop = functools.partial(nn.functional.dropout, p=0.1, training=self.training)
            return floating(result, drop)

        return forward

    assert loses(task, answer, replaced(kind, "forward", dropping))


class WholeVectors(nn.Module):
    """Dropout that drops a vector or keeps it whole."""

    def __init__(self, rate):
        super().__init__()
        self.p = rate

    def forward(self, x):
        ones = torch.ones_like(x[..., :1])
        return x * nn.functional.dropout(ones, self.p, self.training)


@pytest.mark.parametrize(
    ("chapter", "answer"),
    [
        ("ch5_positional_encoding", "PositionalEncoding"),
        ("ch6_transformer", "FeedForward"),
        ("ch6_transformer", "EncoderLayer"),
        ("ch6_transformer", "DecoderLayer"),
        ("ch6_transformer", "Transformer"),
    ],
)
def test_dropout_of_whole_vectors(chapter, answer):
    task = COURSE.exercise(chapter)
    kind = namespace_of(task.program())[answer]

    class Wrong(kind):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            for module in list(self.modules()):
                for name, child in module.named_children():
                    if isinstance(child, nn.Dropout):
                        setattr(module, name, WholeVectors(child.p))

    assert loses(task, answer, Wrong)


def remembering(method, parameter):
    """A method that takes for an argument what an earlier call had there, if the shape is the same."""
    signature = inspect.signature(method)

    def forward(self, *given, **named):
        bound = signature.bind(self, *given, **named)
        value = bound.arguments.get(parameter)
        if isinstance(value, torch.Tensor):
            seen = self.__dict__.setdefault(f"seen {parameter}", {})
            bound.arguments[parameter] = seen.setdefault(value.shape, value)
        return method(*bound.args, **bound.kwargs)

    return forward


def methods():
    """Every parameter of a module's own methods that is a tensor."""
    for param in modules():
        exercise, answer, kind = param.values
        for name, method in vars(kind).items():
            if name.startswith("_") or not inspect.isfunction(method):
                continue
            for parameter in sorted(
                inspect.signature(method).parameters.keys() - {"self", "offset"}
            ):
                place = f"{answer}.{name}, {parameter}"
                yield pytest.param(exercise, answer, kind, name, parameter, id=place)


@pytest.mark.parametrize(("task", "answer", "kind", "method", "parameter"), list(methods()))
def test_what_an_earlier_call_was_given(task, answer, kind, method, parameter):
    wrong = replaced(kind, method, lambda right: remembering(right, parameter))
    assert loses(task, answer, wrong)


def ignoring(function, parameter):
    """A function on which an optional argument has no effect."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrong(*given, **named):
        bound = signature.bind(*given, **named)
        bound.arguments.pop(parameter, None)
        return function(*bound.args, **bound.kwargs)

    return wrong


def optional(function):
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    ]


def optional_arguments():
    """(exercise, answer, what it is, method or empty, parameter) of every optional argument."""
    for exercise, answer, kind in answers():
        if isinstance(kind, type):
            owned = [name for name, value in vars(kind).items() if inspect.isfunction(value)]
        else:
            owned = [""]
        for method in owned:
            for parameter in optional(getattr(kind, method) if method else kind):
                place = f"{answer}.{method}" if method else answer
                given = exercise, answer, kind, method, parameter
                yield pytest.param(*given, id=f"{exercise.name}-{place}, {parameter}")


@pytest.mark.parametrize(
    ("task", "answer", "kind", "method", "parameter"), list(optional_arguments())
)
def test_an_optional_argument_without_effect(task, answer, kind, method, parameter):
    if method:
        wrong = replaced(kind, method, lambda right: ignoring(right, parameter))
    else:
        wrong = ignoring(kind, parameter)
    assert loses(task, answer, wrong)


def causal_unasked(function, parameter):
    """Where there is no mask, and as many queries as keys, later keys are hidden."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrong(*given, **named):
        bound = signature.bind(*given, **named)
        if bound.arguments.get(parameter) is None:
            tensors = [x for x in bound.arguments.values() if hasattr(x, "shape")]
            memory = parameter == "memory_mask"
            latent = "latent" in bound.arguments
            queries, keys = (
                tensors[0],
                tensors[2 if latent else 1 if memory or len(tensors) > 2 else 0],
            )
            T, S = queries.shape[-2], keys.shape[-2]
            if T == S:
                mask = torch.ones(T, S, dtype=torch.bool).tril()
                bound.arguments[parameter] = mask if torch.is_tensor(queries) else mask.numpy()
        return function(*bound.args, **bound.kwargs)

    return wrong


MASKED = [
    ("ch2_scaled_dot_product", "attention_numpy", "", "mask"),
    ("ch2_scaled_dot_product", "attention", "", "mask"),
    ("ch3_multi_head", "MultiHeadAttention", "forward", "mask"),
    ("ch3_multi_head", "head_contribution", "", "mask"),
    ("ch3_multi_head", "grouped_query_attention", "", "mask"),
    ("ch6_transformer", "EncoderLayer", "forward", "mask"),
    ("ch6_transformer", "DecoderLayer", "forward", "target_mask"),
    ("ch6_transformer", "DecoderLayer", "forward", "memory_mask"),
    ("ch8_language_model", "latent_attention", "", "mask"),
]


@pytest.mark.parametrize(("chapter", "answer", "method", "parameter"), MASKED)
def test_a_causal_mask_that_nobody_asked_for(chapter, answer, method, parameter):
    task = COURSE.exercise(chapter)
    kind = namespace_of(task.program())[answer]
    if method:
        wrong = replaced(kind, method, lambda right: causal_unasked(right, parameter))
    else:
        wrong = causal_unasked(kind, parameter)
    assert loses(task, answer, wrong)
