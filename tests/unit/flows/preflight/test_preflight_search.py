"""What a source has is told without fetching it, and without touching the store."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flexnode.artifacts import HttpSettings
from flexnode.clock import FakeClock
from flexnode.flows.preflight.search import Search
from flexnode.flows.preflight.situation import Answer, Sought
from flexnode.model import Artifact
from unit.flows.preflight.samples import artifact

DATA = b"a program" * 1000
WANTED = artifact("kubelet", sha256=hashlib.sha256(DATA).hexdigest(), size=None, urls=())


def seek(tmp_path: Path, *sources: str, wanted: Sequence[Artifact] = (WANTED,), **rest: Any) -> Search:
    return Search(wanted, sources, store=tmp_path / "store", http=HttpSettings(), clock=FakeClock(), **rest)


def lay(folder: Path, data: bytes = DATA) -> Path:
    path = folder / "sha256" / WANTED.sha256
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return path


def only(search: Search) -> tuple[Sought, tuple[Answer, ...]]:
    (sought,) = search()
    return sought, sought.answers


class Site(BaseHTTPRequestHandler):
    """A web server: a mirror below /mirror, a sign-in page everywhere else. `asked` counts."""

    asked: list[str] = []  # noqa: RUF012 of the class, on purpose: a handler lives for one request

    def do_GET(self) -> None:
        self.asked.append(self.path)
        page = b"<!DOCTYPE html><html>sign in</html>"
        body = DATA if self.path == f"/mirror/sha256/{WANTED.sha256}" else page
        status = 404 if self.path.startswith("/empty/") else 200
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    Site.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_is_in_the_store_is_not_looked_for(tmp_path: Path) -> None:
    lay(tmp_path / "store")
    sought, answers = only(seek(tmp_path, str(tmp_path / "does-not-exist")))
    assert sought.stored
    assert answers == ()


def test_what_is_missing_is_known_without_asking_anybody(tmp_path: Path, site: str) -> None:
    search = seek(tmp_path, f"{site}/mirror", wanted=[WANTED, artifact("runc")])
    lay(tmp_path / "store")
    assert [each.component for each in search.missing()] == ["runc"]
    assert Site.asked == []


def test_a_damaged_file_in_the_store_counts_as_missing_and_stays(tmp_path: Path) -> None:
    path = lay(tmp_path / "store", b"damaged")
    sought, _ = only(seek(tmp_path))
    assert not sought.stored
    assert path.read_bytes() == b"damaged", "a check changed the store"


def test_no_store_is_made(tmp_path: Path) -> None:
    only(seek(tmp_path, str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_each_source_answers_for_itself(tmp_path: Path, site: str) -> None:
    full, empty = tmp_path / "full", tmp_path / "empty"
    lay(full)
    empty.mkdir()
    sources = (
        str(empty),
        str(tmp_path / "nowhere"),
        f"{site}/empty",
        f"{site}/portal",
        str(full),
        f"{site}/mirror",
    )
    sought, answers = only(seek(tmp_path, *sources))
    codes = [answer.error.code if answer.error else "" for answer in answers]
    assert codes == [
        "artifact/not-found",
        "artifact/bad-source",
        "artifact/not-found",
        "artifact/intercepted",
        "",
        "",
    ]
    assert [answer.source for answer in answers] == list(sources)
    assert [answer.size for answer in answers[-2:]] == [len(DATA), len(DATA)]
    assert sought.found
    assert sought.size == len(DATA)


def test_a_password_in_a_source_is_not_told(tmp_path: Path, site: str) -> None:
    _, (answer,) = only(seek(tmp_path, site.replace("://", "://user:geheim@") + "/empty"))
    assert "geheim" not in answer.source + str(answer.error)


def test_sources_are_asked_once_however_many_checks_ask(tmp_path: Path, site: str) -> None:
    search = seek(tmp_path, f"{site}/mirror")
    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert search()[0].found
    assert len(Site.asked) == 1


def test_a_vendor_is_asked_at_each_of_its_places_until_one_has_it(tmp_path: Path, site: str) -> None:
    urls = (f"{site}/empty/kubelet", f"{site}/mirror/sha256/{WANTED.sha256}")
    elsewhere = artifact("kubelet", sha256=WANTED.sha256, urls=urls)
    sought, (answer,) = only(seek(tmp_path, "vendor", wanted=[elsewhere]))
    assert sought.found
    assert answer.size == len(DATA)


def test_what_a_node_works_without_is_marked(tmp_path: Path) -> None:
    sought, _ = only(seek(tmp_path, optional={WANTED.sha256}))
    assert sought.optional
