"""What ends a command early: each with a message on stderr and an exit code, none with a traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec

import click

from constrained.errors import ConstrainedError, NoTokenAllowed, ValidationFailed

__all__ = ["EXIT_FAILED", "EXIT_INTERRUPTED", "EXIT_USAGE", "explained_errors", "fail", "without_traceback"]

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
_EXIT_BROKEN_PIPE = 141  # what the shell says of a program that SIGPIPE ended

P = ParamSpec("P")


def explained_errors() -> tuple[type[Exception], ...]:
    """Errors whose message says all that a user needs."""
    from grammars.errors import GrammarError

    return (ConstrainedError, GrammarError)


def fail(message: str, *, exit_code: int) -> NoReturn:
    """Say on stderr why the command ends, and end it."""
    click.echo(f"Error: {message}", err=True)
    raise click.exceptions.Exit(exit_code)


def without_traceback(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command so that what a user can cause ends with a message: see :func:`explained_errors`."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except BrokenPipeError:
            _silence_stdout()
            raise click.exceptions.Exit(_EXIT_BROKEN_PIPE) from None
        except KeyboardInterrupt:
            fail("interrupted", exit_code=EXIT_INTERRUPTED)
        except OSError as error:
            fail(str(error), exit_code=EXIT_FAILED)
        except SystemExit as error:  # a validator in the user's module, say: nothing of ours
            fail(f"code of the output type ended the program (sys.exit({error.code!r}))", exit_code=EXIT_FAILED)
        except Exception as error:
            if not isinstance(error, explained_errors()):
                raise
            failed = isinstance(error, ValidationFailed | NoTokenAllowed)
            fail(str(error), exit_code=EXIT_FAILED if failed else EXIT_USAGE)

    return wrapped


def _silence_stdout() -> None:
    """The reader of the pipe is gone; let the flush at exit go nowhere instead of complaining."""
    with open(os.devnull, "wb") as devnull:
        os.dup2(devnull.fileno(), sys.stdout.fileno())
