"""The bytes behind every `Content`: from the artifact store, from what was kept, or from secrets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from flexnode.artifacts import Store
from flexnode.digests import Digests
from flexnode.errors import GenerationError
from flexnode.generation.blobs import Blobs
from flexnode.generation.directory import StateDirectory
from flexnode.generation.generation import Generation
from flexnode.generation.members import Members
from flexnode.resources import state
from flexnode.resources.state import Blob, Content, File, Image, Member, Packages, State, Text
from flexnode.secret import Secret

Secrets = Mapping[str, Callable[[], Secret]]
"""How to get each secret, by the name that generations know it by."""


class StoredContents:
    """Implements `flexnode.resources.handler.Contents` over the state directory."""

    def __init__(
        self,
        directory: StateDirectory,
        *,
        store: Store | None = None,
        secrets: Secrets | None = None,
        digests: Digests | None = None,
    ) -> None:
        """`store`: one that others use too, in place of the directory's own; nothing is removed from it.

        `digests`: those of the machine that the contents are for, so that both are remembered together.
        """
        self.owns_store = store is None
        self.digests = digests or Digests()
        self.store = store or Store(directory.store, digests=self.digests)
        self.members = Members(directory.members, self.store, digests=self.digests)
        self.blobs = Blobs(directory.blobs)
        self._secrets = dict(secrets or {})

    def resolve(self, content: Content) -> bytes | Path:
        match content:
            case Text(text=text):
                return text.encode()
            case state.Secret():
                return self._fill_in(content).encode()
            case Blob(sha256=sha256):
                return self.blobs.find(sha256) or self.store.require(sha256)
            case Member(artifact=artifact, path=""):
                return self.store.require(artifact)
            case Member():
                return self.members.require(content)

    def digest(self, content: Content) -> str:
        """Empty, which equals no digest, for a member that nobody has unpacked yet."""
        match content:
            case Blob(sha256=sha256) | Member(artifact=sha256, path=""):
                return sha256
            case Member():
                return self.members.find_digest(content) or ""
            case Text(text=text):
                return hashlib.sha256(text.encode()).hexdigest()
            case state.Secret():
                return hashlib.sha256(self._fill_in(content).encode()).hexdigest()

    def measure(self, content: Member | Blob) -> int:
        """The size of the file behind it, none if there is no file. Hashes nothing."""
        digest = self.digest(content)
        places = (
            (self.store.path(digest), self.blobs.path(digest), self.members.path(digest)) if digest else ()
        )
        return next((path.stat().st_size for path in places if path.is_file()), 0)

    def keep(self, data: bytes | Path) -> Blob:
        return self.blobs.keep(data)

    def _fill_in(self, content: state.Secret) -> str:
        values = {"{{" + name + "}}": self._reveal(name) for name in content.names}
        if not values:
            return content.template
        # In one pass: what looks like a name inside of a secret is a part of the secret.
        names = re.compile("|".join(map(re.escape, values)))
        return names.sub(lambda match: values[match.group()], content.template)

    def _reveal(self, name: str) -> str:
        if name not in self._secrets:
            raise GenerationError(
                f"the secret {name} is needed, and nothing says where it comes from",
                code="generation/unknown-secret",
                hint="put it into the configuration again",
            )
        return self._secrets[name]().reveal()


def referenced_files(generation: Generation) -> frozenset[str]:
    """The digests of all files that must be at hand for a generation to be applied."""
    digests = {need.sha256 for need in generation.needs}
    for resource in generation.resources:
        digests.update(_digests_in(resource.want))
    return frozenset(digests)


def referenced_members(generation: Generation) -> tuple[Member, ...]:
    """The files out of archives that a generation installs, each once."""
    contents = (each.want.content for each in generation.resources if isinstance(each.want, File))
    return tuple(dict.fromkeys(each for each in contents if isinstance(each, Member) and each.path))


def installed_paths(generation: Generation) -> tuple[str, ...]:
    """Where the files lie that a generation keeps on its machine."""
    files = (each for each in generation.resources if isinstance(each.want, File))
    return tuple(each.name for each in files if each.kind == "file" and not each.until)


def _digests_in(want: State) -> Iterable[str]:
    match want:
        case (
            File(content=Blob(sha256=sha256)) | File(content=Member(artifact=sha256)) | Image(archive=sha256)
        ):
            return (sha256,) if sha256 else ()
        case Packages(debs=debs):
            return debs
        case _:
            return ()
