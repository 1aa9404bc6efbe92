"""``constrained grammar`` and ``constrained mask``: what a grammar takes, shows and allows, before a model is asked."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from ..failures import EXIT_FAILED, without_traceback
from ..grammar_source import grammar_options, read_source, read_text
from ..inspection import compile_for_bytes, sampled_texts, standing
from ..options import NameParam
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from grammars.ir import IR

__all__ = ["grammar", "mask"]


@click.group()
def grammar() -> None:
    """Look at a grammar: check texts, show it as EBNF, sample its language.

    A grammar is a file (.gbnf, .lark, or .json for a JSON Schema), --regex, --schema, or --library.
    """


@grammar.command()
@click.argument("arguments", nargs=-1, metavar="[GRAMMAR] TEXT")
@grammar_options
@without_traceback
def check(arguments: tuple[str, ...], **options: Any) -> None:
    """Say whether a grammar takes TEXT (- reads it from standard input): accepted, incomplete, or dead at a place.

    Exit codes: 0 accepted; 1 incomplete or dead; 2 wrong usage, or a fault in the grammar.

    \b
    constrained grammar check --regex '[0-9]+(\\.[0-9]+)?' 12.
    constrained grammar check sql.lark 'SELECT a FROM'
    """
    from grammars.errors import excerpt

    source, (argument,) = read_source(arguments, options, more=1)
    with stdout_to_stderr():
        text = read_text(argument)
        found = standing(compile_for_bytes(_warm(source.lower(default_whitespace="any"))), text)
    if found.is_accepted:
        click.echo("accepted")
        return
    if found.is_dead:
        line = text.count("\n", 0, found.position) + 1
        column = found.position - text.rfind("\n", 0, found.position)
        click.echo(f"dead at {line}:{column}: expected {found.expected}\n{excerpt(text, found.position)}")
    else:
        click.echo(f"incomplete: expected {found.expected}\n{excerpt(text, found.position)}")
    raise click.exceptions.Exit(EXIT_FAILED)


@grammar.command()
@click.argument("arguments", nargs=-1, metavar="[GRAMMAR]")
@grammar_options
@without_traceback
def show(arguments: tuple[str, ...], **options: Any) -> None:
    """Write a grammar as EBNF, as it is compiled. Where GBNF can say it, GBNF reads it back.

    \b
    constrained grammar show --schema '{"type": "object", "properties": {"a": {"type": "integer"}}}'
    """
    from grammars.ir.printer import to_ebnf

    source, _ = read_source(arguments, options, more=0)
    with stdout_to_stderr():
        text = to_ebnf(source.lower())
    click.echo(text)


@grammar.command()
@click.argument("arguments", nargs=-1, metavar="[GRAMMAR]")
@grammar_options
@click.option("--count", "-n", default=10, show_default=True, type=click.IntRange(min=1), help="How many texts.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="The same seed, the same texts.")
@click.option("--raw", is_flag=True, help="Write the texts as they are, not as JSON strings.")
@without_traceback
def sample(arguments: tuple[str, ...], count: int, seed: int, raw: bool, **options: Any) -> None:
    """Write random texts of a grammar's language: JSON strings, one a line.

    \b
    constrained grammar sample --library semantic_version -n 20 --seed 7
    """
    source, _ = read_source(arguments, options, more=0)
    with stdout_to_stderr():
        ir = source.lower()
        texts = sampled_texts(ir if not ir.guards and not ir.registers else _warm(ir), seed)
    for text in islice(texts, count):
        click.echo(text if raw else json.dumps(text, ensure_ascii=False))


@click.command()
@click.argument("arguments", nargs=-1, metavar="[GRAMMAR] TEXT")
@grammar_options
@click.option("--model", "-m", type=NameParam(), metavar="NAME", help="Whose tokens. Default: the embedded model.")
@click.option("--most", default=30, show_default=True, type=click.IntRange(min=0), help="How many tokens to list.")
@without_traceback
def mask(arguments: tuple[str, ...], model: str | None, most: int, **options: Any) -> None:
    """Say which tokens of a model may come behind TEXT: how many, which ones, and the bytes that are forced.

    Exit codes: 0 some may; 1 none, for TEXT is not possible; 2 wrong usage, or no usable model.

    \b
    constrained mask --library sql_select 'SELECT a FR'
    """
    from constrained.model import load_model
    from grammars import compile_ir
    from grammars.errors import excerpt

    source, (argument,) = read_source(arguments, options, more=1)
    with stdout_to_stderr():
        text = read_text(argument)
        ir = _warm(source.lower())
        loaded = load_model(model, device="cpu", progress=lambda line: click.echo(line, err=True))
        vocabulary = loaded.tokenizer.vocabulary(loaded.model.vocab_size)
        matcher = compile_ir(ir, vocabulary).matcher()
        is_possible = matcher.consume_bytes(text.encode())
    if not is_possible:
        found = standing(compile_for_bytes(ir), text)
        click.echo(f"dead: expected {found.expected}\n{excerpt(text, found.position)}")
        raise click.exceptions.Exit(EXIT_FAILED)
    allowed = matcher.allowed_token_ids()
    ends = [token_id for token_id in allowed if token_id in vocabulary.eos_token_ids and matcher.is_accepting]
    names = {token_id: name for name, token_id in vocabulary.special_tokens.items()}
    click.echo(f"{len(allowed):,} of {vocabulary.size:,} tokens may come next{', the end among them' if ends else ''}")
    forced = matcher.forced_bytes()
    if forced:
        click.echo(f"forced: {json.dumps(forced.decode('utf-8', 'backslashreplace'), ensure_ascii=False)}")
    for token_id in [token_id for token_id in allowed if token_id not in ends][:most]:
        data = vocabulary.token_bytes(token_id) or b""
        shown = json.dumps(data.decode("utf-8", "backslashreplace"), ensure_ascii=False)
        click.echo(f"{token_id:>8} {shown if data else names.get(token_id, 'without text')}")


def _warm(ir: IR) -> IR:
    """The grammar, with the kernels compiled."""
    import grammars

    if not grammars.is_warm():
        click.echo("compiling the kernels of the grammar engine (once)", err=True)
        grammars.warm_up()
    return ir
