"""Secrets that lie elsewhere: in a file or in a systemd credential, read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from flexnode.config.types import Text
from flexnode.errors import ConfigError
from flexnode.secret import Secret

MOST_BYTES = 1 << 16


class ReferencedSecret(Secret):
    """A secret that is read each time it is revealed. Equal to another one of the same place."""

    __slots__ = ("_read",)

    def __init__(self, place: str, read: Callable[[], str]) -> None:
        super().__init__(place)
        self._read = read

    def reveal(self) -> str:
        return self._read()


def refer(reference: Mapping[str, str], kind: Text, environ: Mapping[str, str]) -> ReferencedSecret:
    """The secret that `{"file": PATH}` or `{"credential": NAME}` leads to; nothing is read yet."""
    ((way, place),) = reference.items()

    def read() -> str:
        path = Path(place) if way == "file" else _find_credential(place, environ)
        return read_secret(path, kind)

    return ReferencedSecret(f"{way}:{place}", read)


def read_secret(path: Path, kind: Text) -> str:
    """The secret in a file, without the line's end that editors add."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode().rstrip("\r\n")
    except OSError as error:
        raise ConfigError(
            f"the secret in {path} cannot be read: {error.strerror or error}",
            code="config/secret-unreadable",
            hint="put the file there, readable by root, or name another place in the configuration",
        ) from error
    except UnicodeDecodeError:
        text = ""
    if len(data) > MOST_BYTES or kind.find_fault(text):
        raise ConfigError(
            f"{path} does not hold {kind.words}",
            code="config/secret-invalid",
            hint=kind.hint or "the file holds the secret and nothing else",
        )
    return text


def _find_credential(name: str, environ: Mapping[str, str]) -> Path:
    directory = environ.get("CREDENTIALS_DIRECTORY", "")
    if not directory:
        raise ConfigError(
            f"the credential {name} is not there: systemd gave this process no credentials",
            code="config/secret-unreadable",
            hint=f"set LoadCredential={name}:PATH in the agent's unit, or name a file in the configuration",
        )
    return Path(directory) / name
