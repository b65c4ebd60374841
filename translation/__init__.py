"""Train, use and judge the Transformer of chapter 6: `python -m translation --help`.

data gives pairs of sentences, tokenizer cuts them into pieces, batches groups them, model builds the
network, trainer trains it, run_folder keeps what a run leaves, decoding writes translations and
evaluation scores them. command_line has the options, and commands what they start.
"""


class TranslationError(ValueError):
    """Something that the user can put right; the message is one line that says what."""
