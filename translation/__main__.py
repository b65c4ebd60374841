"""`python -m translation`: train, translate, evaluate."""

from __future__ import annotations

import os
import signal
import sys

from rich.console import Console

from translation import TranslationError
from translation.command_line import check, parser
from translation.interruption import Stopped

say = Console(stderr=True, highlight=False, soft_wrap=True).print


def main(argv: list[str] | None = None) -> int:
    """Run a command; errors that the user can put right take one line. Returns the exit status."""
    arguments = parser().parse_args(argv)
    try:
        check(arguments)
        from translation.commands import run  # imports PyTorch, which takes seconds

        run(arguments)
        # without standard output, sys.stdout is None
        print(end="", flush=True)
    except BrokenPipeError:
        # who reads the output, such as head, has enough; Python would try to write the rest at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except TranslationError as error:
        say(f"Error: {error}", style="red", markup=False)
        return 1
    except Stopped as stopped:
        say(str(stopped))
        return 130
    except KeyboardInterrupt:
        say("stopped at once; what was saved before is whole")
        return 130
    return 0


if __name__ == "__main__":
    status = main()
    if "WORLD_SIZE" in os.environ:
        # a thread of gloo may still hold a tensor and aborts (SIGABRT) if it drops it while Python shuts
        # down, after all work is done: https://github.com/pytorch/pytorch/pull/179291
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
