"""Container images that lie in the runtime before the first pod asks for them."""

from __future__ import annotations

from flexnode.errors import HostError
from flexnode.host.door import Host
from flexnode.resources.handler import Contents
from flexnode.resources.running import find_images, systemd_runs
from flexnode.resources.staged import staged_file
from flexnode.resources.state import Absent, Image, State


class ImageHandler:
    """An image is known by its reference. While the runtime is down none is there.

    Where an image came from cannot be seen: one that was there before ours names no origin, and never comes
    again.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        if not systemd_runs(host):
            return want
        if name not in (find_images(host) or ()):
            return Absent()
        return want if isinstance(want, Image) else Image()

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        return isinstance(want, Image) == isinstance(found, Image)

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        if not systemd_runs(host):
            return
        there = name in host.runtime.images()
        if isinstance(state, Absent) and there:
            host.runtime.remove_image(name)
        elif isinstance(state, Image) and not there:
            _fetch(host, name, state, contents)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """Nothing to keep: an import overwrites no image that was found."""


def _fetch(host: Host, name: str, state: Image, contents: Contents) -> None:
    if state.pull:
        host.runtime.pull_image(name)
    elif state.archive:
        host.runtime.import_image(staged_file(contents, state.archive))
        if name not in host.runtime.images():
            raise HostError(
                f"the archive that should hold the image {name} does not",
                code="image/not-in-archive",
                hint="compare the reference with the names in the archive's index.json",
            )
