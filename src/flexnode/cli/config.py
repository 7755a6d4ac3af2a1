"""`aks-flex-node config show | validate | schema | convert`, and the options that name a configuration."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flexnode.cli.output import emit, verb_options
from flexnode.errors import ConfigError

if TYPE_CHECKING:
    from flexnode.config import Layer, Problem, Resolved
    from flexnode.config.layers import DecodedLayer

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "/etc/aks-flex-node/config.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigChoice:
    """Which configuration the command line names."""

    path: Path | None = None
    sets: tuple[str, ...] = ()

    def load(self, *, metadata: tuple[Layer, ...] = (), complete: bool = True) -> Resolved:
        """The configuration of this machine; `complete`: whether a node must be able to join with it."""
        from flexnode.config import load_config

        return load_config(
            self.path, environ=os.environ, sets=self.sets, metadata=metadata, complete=complete
        )


def config_options(command: F) -> F:
    """`--config` and `--set`; the verb gets one argument for both, `config: ConfigChoice`."""

    @wraps(command)
    def with_choice(*args: Any, config: Path | None, sets: tuple[str, ...], **options: Any) -> Any:
        return command(*args, config=ConfigChoice(path=config, sets=sets), **options)

    wrapped: Any = click.option(
        "--set",
        "sets",
        metavar="PATH=VALUE",
        multiple=True,
        help="Set one value, over every other source: kubelet.maxPods=50. Lists and maps are JSON.",
    )(with_choice)
    wrapped = click.option(
        "--config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        # The path comes first: further on, its hyphens would be broken over two lines.
        help=f"{DEFAULT} (or .yaml) if none is named; drop-ins lie in config.d/ beside it.",
    )(wrapped)
    found: F = wrapped
    return found


@click.group()
def config() -> None:
    """Show and check the configuration.

    A configuration is put together from many sources: defaults, the image, a file,
    drop-ins, the environment, flags. `show --origin` tells where each value comes from.
    """


@config.command()
@click.option("--origin", is_flag=True, help="Show where each value comes from, and what it overrode.")
@config_options
@verb_options
def show(config: ConfigChoice, origin: bool, output: str) -> None:
    """Show the configuration as it is after all sources were merged.

    Without --origin it is a document itself, except for the secrets, which are never shown.
    """
    from flexnode.config.render import make_document, make_origins, render_origins, render_yaml

    resolved = config.load(complete=False)
    _warn(resolved.warnings)
    if origin:
        emit(output, text=render_origins(resolved), data=make_origins(resolved))
        return
    document = make_document(resolved.data)
    emit(output, text=render_yaml(document) if output == "text" else "", data=document)


@config.command(short_help="Check the configuration, and name all that is wrong.")
@click.option("--partial", is_flag=True, help="Do not ask whether a node could join with it.")
@config_options
@verb_options
def validate(config: ConfigChoice, partial: bool, output: str) -> None:
    """Check the configuration; exit 2 and name everything that is wrong with it.

    Nothing is asked of the cluster or of Azure: `preflight` does that.
    """
    from flexnode.config import digest

    resolved = config.load(complete=not partial)
    sources = list(dict.fromkeys(layer.origin for layer in resolved.layers))
    text = "\n".join(["valid", *(f"  {source}" for source in sources)])
    if output == "text":
        _warn(resolved.warnings)
    data = {
        "valid": True,
        "sources": sources,
        "digest": digest(resolved),
        "warnings": [warning.record() for warning in resolved.warnings],
    }
    emit(output, text=text, data=data)


@config.command(short_help="Print the JSON Schema of the configuration.")
@click.option("--markdown", is_flag=True, help="The reference page of all settings instead.")
@verb_options
def schema(markdown: bool, output: str) -> None:
    """Print the JSON Schema of the configuration, for editors and other checks."""
    from flexnode.config.reference import render_reference
    from flexnode.config.schema import make_schema, render_schema

    if markdown:
        page = render_reference()
        emit(output, text=page.rstrip("\n"), data={"markdown": page})
        return
    emit(output, text=render_schema().rstrip("\n"), data=make_schema())


@config.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--write",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the whole document there, secrets included, readable by nobody else; YAML if so named.",
)
@verb_options
def convert(file: Path | None, write: Path | None, output: str) -> None:
    """Show what an old document says in today's form.

    FILE is the configuration of this machine if it is not named. It is never changed. Secrets are not shown;
    with --write they are in the new document.
    """
    from flexnode.config import find_config
    from flexnode.config.render import make_document, render_yaml

    path = file or find_config()
    if path is None:
        raise ConfigError(
            f"there is no {DEFAULT}", code="config/not-found", hint="name the document to convert"
        )
    layer = _load_one(path)
    _warn(layer.warnings)
    if write is not None:
        _write(write, layer)
        emit(output, text=f"wrote {write}", data={"written": str(write)})
        return
    document = make_document(layer.data)
    emit(output, text=render_yaml(document) if output == "text" else "", data=document)


def _load_one(path: Path) -> DecodedLayer:
    """What one file says, by itself."""
    from flexnode.config import InvalidConfig
    from flexnode.config.load import load_file

    layer = load_file(path)
    if layer.problems:
        raise InvalidConfig(layer.problems)
    return layer


def _write(path: Path, layer: DecodedLayer) -> None:
    """A new file with the whole document, its owner's alone from the first byte on."""
    from flexnode.config.render import render_json, render_yaml, reveal_document

    document = reveal_document(layer.data)
    text = render_yaml(document) if path.suffix in (".yaml", ".yml") else render_json(document)
    hint = "name a file that does not exist yet, in a directory that does"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        hint = "free some space there, then run again"
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text + "\n")
        except OSError:
            path.unlink(missing_ok=True)  # half a document would stand in the way of the next try
            raise
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror or error}", code="config/not-written", hint=hint
        ) from error


def _warn(warnings: tuple[Problem, ...]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
