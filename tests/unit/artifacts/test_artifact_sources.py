"""Every way to write a source leads to the same file."""

from __future__ import annotations

import base64
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flexlab.artifact_server import serve
from flexnode.artifacts import (
    Fetcher,
    FileEntry,
    HttpSettings,
    Manifest,
    Store,
    describe_file,
    open_sources,
    read_index,
    write_bundle,
)
from flexnode.clock import SystemClock
from flexnode.errors import ArtifactError, exit_code
from flexnode.model import Artifact
from unit.artifacts.samples import QUICK, artifact_of, content, leftovers, put

DATA = content(300_000)


@pytest.fixture
def origin(tmp_path: Path) -> Store:
    store = Store(tmp_path / "origin")
    put(store, DATA)
    return store


@pytest.fixture
def fetch(tmp_path: Path) -> Callable[[Artifact, str], Path]:
    def fetch_from(artifact: Artifact, *sources: str) -> Path:
        clock = SystemClock()
        store = Store(tmp_path / "store")
        with open_sources(sources, settings=HttpSettings(idle_timeout=5), clock=clock) as opened:
            return Fetcher(store, opened, clock=clock, limits=QUICK).fetch(artifact)

    return fetch_from


Fetch = Callable[..., Path]


def make_bundle_of(path: Path, store: Store, *artifacts: Artifact) -> Path:
    files: list[FileEntry] = [
        describe_file(artifact, store.path(artifact.sha256).stat().st_size) for artifact in artifacts
    ]
    write_bundle(path, Manifest(catalog="c", kubernetes=("0.0",), files=tuple(files)), store)
    return path


def test_a_mirror_is_any_web_server_over_the_directory(origin: Store, fetch: Fetch) -> None:
    with serve(store=origin.root) as server:
        assert fetch(artifact_of(DATA), f"{server.url}/").read_bytes() == DATA
        assert [request.path for request in server.requests] == [f"/sha256/{artifact_of(DATA).sha256}"]


def test_the_vendor_is_where_the_artifact_says(origin: Store, fetch: Fetch) -> None:
    sha256 = artifact_of(DATA).sha256
    with serve(store=origin.root) as server:
        urls = (f"{server.url}/nowhere", f"{server.url}/sha256/{sha256}")
        assert fetch(artifact_of(DATA, urls=urls), "vendor").read_bytes() == DATA


def test_a_directory(origin: Store, fetch: Fetch) -> None:
    assert fetch(artifact_of(DATA), str(origin.root)).read_bytes() == DATA


def test_a_file_url_is_a_directory_too(origin: Store, fetch: Fetch) -> None:
    assert fetch(artifact_of(DATA), origin.root.as_uri()).read_bytes() == DATA


def test_a_bundle_file(origin: Store, fetch: Fetch, tmp_path: Path) -> None:
    bundle = make_bundle_of(tmp_path / "bundle.tar", origin, artifact_of(DATA))
    assert fetch(artifact_of(DATA), str(bundle)).read_bytes() == DATA


def test_an_oci_layout(origin: Store, fetch: Fetch, tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    (layout / "blobs").mkdir(parents=True)
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (origin.root / "sha256").rename(layout / "blobs" / "sha256")
    assert fetch(artifact_of(DATA), f"oci-layout:{layout}").read_bytes() == DATA


def test_a_registry(origin: Store, fetch: Fetch) -> None:
    with serve(store=origin.root) as server:
        source = server.url.replace("http://", "oci://") + "/node/artifacts"
        assert fetch(artifact_of(DATA), source).read_bytes() == DATA


def test_sources_are_asked_in_the_order_given(origin: Store, fetch: Fetch, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with serve(store=origin.root) as server:
        fetch(artifact_of(DATA), str(empty), server.url, str(origin.root))
        assert len(server.requests) == 1


def test_what_no_source_has_lists_them_all(origin: Store, fetch: Fetch, tmp_path: Path) -> None:
    bundle = make_bundle_of(tmp_path / "bundle.tar", origin, artifact_of(DATA))
    with serve(store=origin.root) as server, pytest.raises(ArtifactError) as caught:
        fetch(artifact_of(b"other"), server.url, str(origin.root), str(bundle))
    assert caught.value.code == "artifact/not-found"
    assert not caught.value.transient
    for place in (server.url, str(origin.root), f"{bundle} (bundle)"):
        assert place in caught.value.message


@pytest.mark.parametrize(
    "text",
    ["", "ftp://host/x", "https://", "http://host:port/", "oci://host"],
)
def test_what_is_no_source_is_wrong_usage_and_told_with_the_list_of_kinds(fetch: Fetch, text: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        fetch(artifact_of(DATA), text)
    assert (caught.value.code, exit_code(caught.value)) == ("artifact/bad-source", 2)
    assert "oci://HOST" in caught.value.hint


@pytest.mark.parametrize("text", ["oci-layout:nowhere", "nowhere"])
def test_a_place_that_is_not_there_is_a_failure_and_not_wrong_usage(fetch: Fetch, text: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        fetch(artifact_of(DATA), text)
    assert (caught.value.code, exit_code(caught.value)) == ("artifact/bad-source", 1)


def test_local_sources_need_no_http_client(origin: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "flexnode.artifacts.http", None)
    with open_sources([str(origin.root)], settings=HttpSettings(), clock=SystemClock()) as sources:
        assert len(sources) == 1


@dataclass
class GuardedServer:
    """A server that wants credentials: `basic` directly, or a token from its own token service."""

    store: Store
    basic: str | None = None
    token: str | None = None
    seen: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, authorization: str | None) -> tuple[int, dict[str, str], bytes]:
        self.seen.append((path.partition("?")[0], authorization))
        if path.startswith("/token"):
            if self.basic is not None and authorization != self.basic:
                return 401, {}, b""
            return 200, {}, json.dumps({"token": self.token}).encode()
        expected = f"Bearer {self.token}" if self.token else self.basic
        if authorization != expected:
            kind = (
                f'Bearer realm="{self.url}/token",service="registry",scope="repository:a/b:pull"'
                if self.token
                else 'Basic realm="mirror"'
            )
            return 401, {"WWW-Authenticate": kind}, b""
        digest = path.rpartition("/")[2].removeprefix("sha256:")
        return 200, {}, self.store.path(digest).read_bytes()


@contextmanager
def guarded(server: GuardedServer) -> Iterator[GuardedServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = server.answer(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


BASIC = "Basic " + base64.b64encode(b"user:hunter2").decode()


def with_login(url: str) -> str:
    return url.replace("://", "://user:hunter2@")


def test_a_mirror_with_a_password_gets_it_and_no_message_shows_it(origin: Store, fetch: Fetch) -> None:
    with guarded(GuardedServer(store=origin, basic=BASIC)) as server:
        assert fetch(artifact_of(DATA), with_login(server.url)).read_bytes() == DATA
        with pytest.raises(ArtifactError) as caught:
            fetch(artifact_of(b"x"), server.url.replace("://", "://user:wrong-hunter@"))
    assert caught.value.code == "artifact/forbidden"
    assert "hunter" not in caught.value.message


def test_a_registry_that_wants_a_token_gets_an_anonymous_one(origin: Store, fetch: Fetch) -> None:
    with guarded(GuardedServer(store=origin, token="t0k3n")) as server:
        source = server.url.replace("http:", "oci:") + "/a/b"
        assert fetch(artifact_of(DATA), source).read_bytes() == DATA
        assert ("/token", None) in server.seen
        put(origin, b"second")
        asked = len(server.seen)
        fetch(artifact_of(b"second"), source)
        assert len(server.seen) > asked


def test_a_registry_with_a_password_shows_it_to_the_token_service(origin: Store, fetch: Fetch) -> None:
    with guarded(GuardedServer(store=origin, token="t0k3n", basic=BASIC)) as server:
        source = with_login(server.url.replace("http:", "oci:")) + "/a/b"
        assert fetch(artifact_of(DATA), source).read_bytes() == DATA
        assert ("/token", BASIC) in server.seen


def test_a_registry_that_refuses_for_good_is_terminal(origin: Store, fetch: Fetch) -> None:
    with guarded(GuardedServer(store=origin, basic=BASIC)) as server:
        with pytest.raises(ArtifactError) as caught:
            fetch(artifact_of(DATA), server.url.replace("http:", "oci:") + "/a/b")
        assert caught.value.code == "artifact/forbidden"
        assert not caught.value.transient


def test_the_same_bundle_has_the_same_bytes(origin: Store, tmp_path: Path) -> None:
    second = put(origin, b"second")
    one = make_bundle_of(tmp_path / "one.tar", origin, artifact_of(DATA), second)
    two = make_bundle_of(tmp_path / "two.tar", origin, second, artifact_of(DATA))
    assert one.read_bytes() == two.read_bytes()


def test_a_bundle_is_a_plain_tar_that_begins_with_its_contents(origin: Store, tmp_path: Path) -> None:
    bundle = make_bundle_of(tmp_path / "bundle.tar", origin, artifact_of(DATA))
    with tarfile.open(bundle, "r:") as tar:
        names = tar.getnames()
        member = tar.extractfile("manifest.json")
        assert member is not None
        manifest = json.loads(member.read())
    assert names == ["manifest.json", f"sha256/{artifact_of(DATA).sha256}"]
    assert manifest["kind"] == "ArtifactManifest"
    assert manifest["files"][0]["size"] == len(DATA)


def test_a_bundle_that_cannot_be_finished_leaves_the_earlier_one(origin: Store, tmp_path: Path) -> None:
    bundle = make_bundle_of(tmp_path / "bundle.tar", origin, artifact_of(DATA))
    before = bundle.read_bytes()
    missing = artifact_of(b"missing")
    manifest = Manifest(catalog="c", kubernetes=(), files=(describe_file(missing, 7),))
    with pytest.raises(ArtifactError, match="sample"):
        write_bundle(bundle, manifest, origin)
    assert bundle.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle.tar", "origin"]


def test_a_bundle_cut_short_is_never_taken_for_whole(origin: Store, fetch: Fetch, tmp_path: Path) -> None:
    bundle = make_bundle_of(tmp_path / "bundle.tar", origin, artifact_of(DATA))
    bundle.write_bytes(bundle.read_bytes()[:100_000])
    with pytest.raises(ArtifactError) as caught:
        fetch(artifact_of(DATA), str(bundle))
    assert caught.value.code in ("artifact/digest-mismatch", "artifact/bad-manifest")
    assert leftovers(Store(tmp_path / "store")) == []


@pytest.mark.parametrize("data", [b"", b"text", b"\0" * 10240], ids=["empty", "text", "zeros"])
def test_another_file_is_not_taken_for_a_bundle(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bundle.tar"
    path.write_bytes(data)
    with pytest.raises(ArtifactError) as caught:
        read_index(path)
    assert caught.value.code == "artifact/bad-manifest"


@pytest.mark.parametrize("before", ["", "oci-layout:"])
def test_a_path_too_long_to_exist_is_no_source_and_no_crash(fetch: Fetch, before: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        fetch(artifact_of(DATA), before + "a" * 300)
    assert caught.value.code == "artifact/bad-source"


def test_a_bundle_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_index(tmp_path)
    assert caught.value.code == "artifact/unreadable"
