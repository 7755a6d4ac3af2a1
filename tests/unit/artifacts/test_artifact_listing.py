"""What a source lists is read from wherever it lies; a source that lists nothing is no failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flexlab.artifact_server import serve
from flexnode.artifacts import (
    MANIFEST,
    HttpSettings,
    Manifest,
    Store,
    find_manifest,
    open_sources,
    render_manifest,
    write_bundle,
)
from flexnode.clock import SystemClock
from flexnode.errors import ArtifactError

LISTED = Manifest(catalog="c", kubernetes=("1.35.0",))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """Any web server over a directory."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()
        thread.join()


def find(text: str) -> Manifest | None:
    with open_sources((text,), settings=HttpSettings(idle_timeout=5), clock=SystemClock()) as (source,):
        return find_manifest(source)


def test_a_bundle_a_directory_and_a_mirror_say_what_they_hold(tmp_path: Path) -> None:
    folder, bundle = tmp_path / "mirror", tmp_path / "node.tar"
    folder.mkdir()
    (folder / MANIFEST).write_bytes(render_manifest(LISTED))
    write_bundle(bundle, LISTED, Store(tmp_path))
    assert find(str(bundle)) == LISTED
    assert find(str(folder)) == LISTED
    with web_server(folder) as url:
        assert find(url) == find(f"{url}/") == LISTED


def test_sources_that_list_nothing(tmp_path: Path) -> None:
    (tmp_path / "oci-layout").write_text("{}")
    assert find(str(tmp_path)) is None
    assert find(f"oci-layout:{tmp_path}") is None
    assert find("vendor") is None
    with serve(store=tmp_path) as server:
        assert find(server.url) is None
        assert find(server.url.replace("http://", "oci://") + "/a/b") is None


def test_what_is_no_manifest_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("<html>")
    with web_server(tmp_path) as url:
        for source in (str(tmp_path), url):
            with pytest.raises(ArtifactError, match=f"{source}/{MANIFEST}") as caught:
                find(source)
            assert caught.value.code == "artifact/bad-manifest"


def test_a_directory_that_nobody_may_read_is_told(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).mkdir()
    with pytest.raises(ArtifactError) as caught:
        find(str(tmp_path))
    assert caught.value.code == "artifact/unreadable"


def test_a_mirror_that_is_away_says_so() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as http:
        port = http.server_address[1]
    with pytest.raises(ArtifactError) as caught:
        find(f"http://127.0.0.1:{port}")
    assert caught.value.transient
