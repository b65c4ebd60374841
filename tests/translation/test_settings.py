"""The trainer's settings: in a run's folder, and on the command line."""

import ast
import dataclasses
import json

import pytest

from tests.support.course import COURSE
from translation import TranslationError
from translation.command_line import settings_of
from translation.run_folder import RunFolder
from translation.settings import OPTIONS, Settings, complete

# config.json as an early version of the trainer wrote it, without the settings that came later
EARLY = {
    "task": "parallel",
    "source_language": "en",
    "target_language": "de",
    "below": 1000000,
    "examples": 20000,
    "held_out": 1000,
    "source": ["a.en", "b.en"],
    "target": ["a.de", "b.de"],
    "valid_source": [],
    "valid_target": [],
    "data": "",
    "text": "lc.norm.tok",
    "vocab_size": 8000,
    "pieces": "unigram",
    "d_model": 256,
    "heads": 4,
    "layers": 3,
    "d_ff": 1024,
    "dropout": 0.1,
    "norm_first": True,
    "tie": True,
    "steps": 20000,
    "tokens": 4096,
    "accumulate": 1,
    "rate": 0.001,
    "warmup": 1000,
    "schedule": "cosine",
    "smoothing": 0,
    "seed": 3,
    "processes": 2,
}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"no_setting": 1}, "no_setting: no setting is called so"),
        ({"d_model": "wide"}, "d_model is 'wide', not of the type int"),
        ({"tie": 1}, "tie is 1, not of the type bool"),
        ({"layers": True}, "layers is True, not of the type int"),
        ({"source": "a.en"}, "source is 'a.en', not of the type tuple"),
    ],
)
def test_a_stored_value_of_another_type_is_named(tmp_path, changed, told):
    (tmp_path / "config.json").write_text(json.dumps(EARLY | changed), encoding="utf-8")
    with pytest.raises(TranslationError, match=rf"config.json is broken: {told}"):
        RunFolder(tmp_path).settings()
    (tmp_path / "config.json").write_text("[]", encoding="utf-8")
    with pytest.raises(TranslationError, match=r"config.json is broken: it has no settings"):
        RunFolder(tmp_path).settings()


def test_every_option_can_be_given_and_stays_what_it_is():
    """Whatever the settings are, the command line that has them all gives them back."""
    values = {bool: False, int: 7, float: 0.25, tuple: ("one", "two")}
    given = {}
    for name, field in OPTIONS.items():
        choices = field.metadata["choices"]
        given[name] = choices[-1] if choices else values.get(type(field.default), "text")
    given |= {"d_model": 14}  # for RoPE
    words = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        else:
            words += [option, *(value if isinstance(value, tuple) else [str(value)])]
    found = settings_of(["train", *words])
    assert dataclasses.asdict(found) == given | {"processes": 1}
    assert Settings.from_json(found.to_json()) == found == complete(given)
    assert json.loads(json.dumps(found.to_json())) == found.to_json()


def test_no_function_of_the_trainer_is_long_and_none_looks_a_setting_up_by_its_name():
    functions = 0
    for path in sorted((COURSE.root / "translation").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                functions += 1
                lines = node.end_lineno - node.lineno + 1
                assert lines <= 60, f"{path.name}, {node.name}: {lines} lines"
            if isinstance(node, ast.Subscript):
                assert not ast.unparse(node).startswith(("settings[", "self.settings["))
    assert functions > 100


def test_settings_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        complete({}).steps = 3


def test_settings_come_from_a_file_and_the_command_line_comes_first(tmp_path):
    stored = complete({"task": "parallel", "steps": 70, "source": ("a",), "target": ("b",)})
    path = tmp_path / "config.json"
    path.write_text(json.dumps(stored.to_json()), encoding="utf-8")
    found = settings_of(["train", f"--config={path}", "--seed=3"])
    assert found == dataclasses.replace(stored, seed=3)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"step": 3}', "step: no setting is called so"),
        ('{"steps": "3"}', "steps is '3', not of the type int"),
        ("[3]", "it has no settings by name"),
        ("{", "Expecting property name"),
    ],
)
def test_a_file_of_settings_that_is_none_says_why(tmp_path, text, told):
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TranslationError, match=f"--config .*mine.json: {told}"):
        settings_of(["train", f"--config={path}"])
