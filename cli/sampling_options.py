"""Options that say how tokens are chosen and marked, beyond temperature and truncation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .documents import decode_text

if TYPE_CHECKING:
    from constrained.watermark import WatermarkConfig

__all__ = ["key_options", "sampling_keywords", "sampling_options", "watermark_config"]

Command = TypeVar("Command", bound=Callable[..., Any])

_SCHEMES = ("gumbel", "kgw", "synthid", "lefthash")
_OWN = ("min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "sampling")
_USUAL = ("temperature", "top_p", "top_k", "seed")


def sampling_options(command: Command) -> Command:
    """How tokens are chosen; the values are collected by :func:`sampling_keywords`."""
    for option in reversed(
        (
            click.option(
                "--sampling-config",
                metavar="FILE|JSON",
                help="All settings of the draw as JSON (SamplingConfig); other options on the line replace its own.",
            ),
            click.option("--min-p", type=float, help="Keep tokens at least so many times as probable as the best."),
            click.option("--repetition-penalty", type=float, help="Above 1: drawn tokens become less probable."),
            click.option("--presence-penalty", type=float, help="Taken off the logit of each token drawn before."),
            click.option("--frequency-penalty", type=float, help="The same, as often as it was drawn."),
            click.option("--bad-word", multiple=True, metavar="TEXT", help="A text not to write; repeatable."),
            click.option(
                "--sampling",
                type=click.Choice(["local", "asap", "cars", "awrs", "smc"]),
                help="local: token by token (default). The others draw whole texts, as the model weighs them.",
            ),
            click.option(
                "--watermark",
                "watermark",
                type=click.Choice(_SCHEMES),
                help="Mark the output; needs a key and, but for kgw and lefthash, a temperature above 0.",
            ),
        )
    ):
        command = option(command)
    return key_options(command)


def key_options(command: Command) -> Command:
    """Where the watermark's key is."""
    for option in reversed(
        (
            click.option("--key-file", metavar="FILE", help="A file with the watermark's key (watermark keygen)."),
            click.option("--key-env", metavar="NAME", help="Or an environment variable that holds it."),
        )
    ):
        command = option(command)
    return command


def sampling_keywords(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of :func:`sampling_options` out of a command's; what was given, as arguments of the API.

    A watermark's key is read already, so that a missing one is told before a model is loaded. Raises a usage error for
    settings that no :class:`~constrained.SamplingConfig` has.
    """
    source = options.pop("sampling_config")
    given: dict[str, Any] = {}
    if source is not None:
        given = _read_config(source)
    own = {name: options.pop(name) for name in _OWN}
    given |= {name: value for name, value in own.items() if value is not None}
    if words := options.pop("bad_word"):
        given["bad_words"] = words
    scheme, key_file, key_env = (options.pop(name) for name in ("watermark", "key_file", "key_env"))
    if scheme is not None:
        given["watermark"] = watermark_config(scheme, key_file, key_env)
    elif key_file is not None or key_env is not None:
        raise click.UsageError("--key-file and --key-env say what to mark the output with; give --watermark too")
    context = click.get_current_context()
    usual = {name: options[name] for name in _USUAL if _is_given(context, name)}
    _check(given | usual)
    if given.get("watermark") is not None:
        given["watermark"].load_key()
    return given | usual


def watermark_config(scheme: str, key_file: str | None, key_env: str | None, **settings: Any) -> WatermarkConfig:
    """How to mark, or what to look for. Raises a usage error for what cannot be meant."""
    from pydantic import ValidationError

    from constrained.watermark import WatermarkConfig

    if (key_file is None) == (key_env is None):
        raise click.UsageError("a watermark needs a key: give one of --key-file and --key-env")
    if scheme == "lefthash":
        settings = {"context_width": 1} | settings
    try:
        return WatermarkConfig(scheme=scheme, key_file=key_file, key_env=key_env, **settings)  # type: ignore[arg-type]
    except ValidationError as error:
        raise click.UsageError(_told(error)) from error


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT


def _read_config(source: str) -> dict[str, Any]:
    """The fields that a config names. Raises a usage error."""
    from pydantic import ValidationError

    from constrained.sampling_config import SamplingConfig

    text = source
    if not source.lstrip().startswith("{"):
        try:
            text = decode_text(Path(source.removeprefix("@")).read_bytes())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise click.BadParameter(
                f"{source!r} cannot be read: {reason}", param_hint="'--sampling-config'"
            ) from error
    try:
        config = SamplingConfig.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise click.BadParameter(f"this is not JSON: {error}", param_hint="'--sampling-config'") from error
    except ValidationError as error:
        raise click.BadParameter(_told(error), param_hint="'--sampling-config'") from error
    return {name: getattr(config, name) for name in config.model_fields_set}


def _check(settings: dict[str, Any]) -> None:
    from pydantic import ValidationError

    from constrained.sampling_config import SamplingConfig

    try:
        SamplingConfig(**settings)
    except ValidationError as error:
        raise click.UsageError(_told(error)) from error


def _told(error: Any) -> str:
    """What is wrong, one line a fault."""
    faults = error.errors(include_url=False)
    return "; ".join(
        f"{'.'.join(map(str, fault['loc'])) + ': ' if fault['loc'] else ''}{fault['msg']}" for fault in faults
    )
