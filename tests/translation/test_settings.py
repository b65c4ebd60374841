"""The trainer's settings: in a run's folder, and on the command line."""

import dataclasses
import json

import pytest

from translation import TranslationError
from translation.command_line import settings_of
from translation.run_folder import RunFolder
from translation.settings import OPTIONS, Settings, complete


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"no_setting": 1}, "no_setting: no setting is called so"),
        ({"d_model": "wide"}, "d_model is 'wide', not of the type int"),
        ({"tie": 1}, "tie is 1, not of the type bool"),
        ({"source": "a.en"}, "source is 'a.en', not of the type tuple"),
    ],
)
def test_a_stored_value_of_another_type_is_named(tmp_path, changed, told):
    (tmp_path / "config.json").write_text(
        json.dumps(complete({}).to_json() | changed), encoding="utf-8"
    )
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


def test_settings_come_from_a_file_and_the_command_line_comes_first(tmp_path):
    stored = complete({"task": "parallel", "steps": 70, "source": ("a",), "target": ("b",)})
    path = tmp_path / "config.json"
    path.write_text(json.dumps(stored.to_json()), encoding="utf-8")
    found = settings_of(["train", f"--config={path}", "--seed=3"])
    assert found == dataclasses.replace(stored, seed=3)


@pytest.mark.parametrize(
    ("text", "told"),
    [('{"step": 3}', "step: no setting is called so"), ("{", "Expecting property name")],
)
def test_a_file_of_settings_that_is_none_says_why(tmp_path, text, told):
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TranslationError, match=f"--config .*mine.json: {told}"):
        settings_of(["train", f"--config={path}"])
