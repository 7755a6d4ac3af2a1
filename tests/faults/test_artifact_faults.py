"""The fault matrix, rows 4 and 7 to 14: what goes wrong on the way to a file, against servers that do it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest

from faults.isolation import run_isolated
from faults.raw_server import answering, closed_port
from flexlab.artifact_server import (
    BadTls,
    CaptivePortal,
    Fault,
    FlipBit,
    NotFound,
    Slow,
    Stall,
    Throttle,
    TlsFlaw,
    Truncate,
    serve,
)
from flexlab.pki import CertificateAuthority, Identity, TlsFiles, Usage, create_authority
from flexnode.artifacts import Fetcher, HttpSettings, Limits, Store, load_proxies, open_sources
from flexnode.clock import Clock, FakeClock, SystemClock
from flexnode.errors import ArtifactError
from flexnode.host import Command, run
from unit.artifacts.samples import QUICK, artifact_of, content, leftovers, put

DATA = content(3_000_000)
ARTIFACT = artifact_of(DATA)


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    store = Store(tmp_path / "origin")
    put(store, DATA)
    return store.root


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def fetch(
    store: Store,
    *sources: str,
    settings: HttpSettings | None = None,
    limits: Limits = QUICK,
    clock: Clock | None = None,
) -> Path:
    settings = settings or HttpSettings(idle_timeout=0.5, connect_timeout=2)
    with open_sources(sources, settings=settings, clock=SystemClock()) as opened:
        return Fetcher(store, opened, clock=clock or SystemClock(), limits=limits).fetch(ARTIFACT)


def failing(store: Store, *sources: str, settings: HttpSettings | None = None) -> ArtifactError:
    """The failure of fetching, after which nothing may lie in the store: not the file, not a part of it."""
    with pytest.raises(ArtifactError) as caught:
        fetch(store, *sources, settings=settings)
    assert store.digests() == ()
    assert leftovers(store) == []
    assert caught.value.hint
    return caught.value


def always(*faults: Fault) -> Callable[[], Sequence[Fault]]:
    return lambda: faults


# Row 4: no space while staging.

FULL_DISK = """
import json, sys
from contextlib import contextmanager
from pathlib import Path
sys.path.insert(0, {tests!r})
from flexnode.artifacts import Fetcher, Limits, Store, Stream
from flexnode.clock import SystemClock
from flexnode.errors import FlexError
from unit.artifacts.samples import artifact_of, content, leftovers

class Source:
    place = "source"
    def offers(self, artifact): return (self,)
    @contextmanager
    def open(self, offset):
        data = content(3_000_000)
        yield Stream(chunks=(data[at:at + 65536] for at in range(0, len(data), 65536)), total={total})

store = Store(Path("disk"))
try:
    fetcher = Fetcher(store, [Source()], clock=SystemClock(), limits=Limits(delays=()))
    fetcher.fetch(artifact_of(content(3_000_000)))
except FlexError as error:
    print(json.dumps({{**error.record(), "left": leftovers(store), "stored": store.digests()}}))
"""


@pytest.mark.parametrize("total", [3_000_000, None], ids=["size-known", "size-unknown"])
def test_row_4_a_full_disk_says_how_much_is_missing_and_is_left_clean(
    tmp_path: Path, total: int | None
) -> None:
    (tmp_path / "disk").mkdir()
    script = FULL_DISK.format(tests=str(Path(__file__).parents[1]), total=total)
    told = run_isolated(script, setup="mount -t tmpfs -o size=1m disk disk", folder=tmp_path)
    assert told["code"] == "artifact/no-space"
    assert told["kind"] == "transient"
    # 3 000 000 bytes do not fit into 1 MiB: the rest is missing, give or take a block of the file system.
    assert ("needs 2.0 MB more" if total else "needs more space") in told["message"]
    assert told["hint"].startswith("free that much")
    assert (told["left"], told["stored"]) == ([], [])


# Row 7: a flipped bit, or truncated.


@pytest.mark.parametrize(
    "fault",
    [FlipBit(offset=1_234_567), Truncate(after=0), Truncate(after=1000), Truncate(after=2_000_000)],
    ids=["flipped", "empty", "cut-early", "cut-late"],
)
class TestRow7:
    def test_the_next_source_is_taken(self, origin: Path, store: Store, fault: Fault) -> None:
        with serve(store=origin, faults=always(fault)) as bad, serve(store=origin) as good:
            assert fetch(store, bad.url, good.url).read_bytes() == DATA
            assert bad.hits(fault) >= 1
        assert leftovers(store) == []

    def test_all_sources_bad_is_terminal(self, origin: Path, store: Store, fault: Fault) -> None:
        with (
            serve(store=origin, faults=always(fault)) as one,
            serve(store=origin, faults=always(fault)) as two,
        ):
            error = failing(store, one.url, two.url)
            assert one.hits(fault) >= 1
            assert two.hits(fault) >= 1
        assert error.code == "artifact/digest-mismatch"
        assert not error.transient
        assert one.url in error.message
        assert two.url in error.message


# Row 8: a mirror at 1 B/s.


@pytest.mark.parametrize("fault", [Slow(bytes_per_second=1), Stall(after=1000)], ids=["1-B/s", "stalled"])
class TestRow8:
    def test_the_next_source_is_taken(self, origin: Path, store: Store, fault: Fault) -> None:
        with serve(store=origin, faults=always(fault)) as slow, serve(store=origin) as good:
            assert fetch(store, slow.url, good.url).read_bytes() == DATA
            assert slow.hits(fault) == 1
        assert leftovers(store) == []

    def test_without_another_source_it_is_transient(self, origin: Path, store: Store, fault: Fault) -> None:
        with serve(store=origin, faults=always(fault)) as slow:
            error = failing(store, slow.url)
        assert error.code == "artifact/too-slow"
        assert error.transient


# Row 9: 404 at every source.


def test_row_9_not_found_anywhere_is_terminal_and_lists_every_place(
    origin: Path, store: Store, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with serve(store=origin, faults=always(NotFound())) as one, serve(store=empty) as two:
        error = failing(store, one.url, two.url, str(empty))
        assert len(one.requests) == 1
    assert error.code == "artifact/not-found"
    assert not error.transient
    for place in (one.url, two.url, str(empty)):
        assert place in error.message


# Row 10: 429 and 503 with Retry-After.


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "date"])
def test_row_10_the_pause_that_is_asked_for_is_made(
    origin: Path, store: Store, status: int, as_date: bool
) -> None:
    clock = FakeClock()
    fault = Throttle(status=status, retry_after=60, as_date=as_date, times=1)  # type: ignore[arg-type]
    with serve(store=origin, faults=always(fault)) as server:
        fetch(store, server.url, clock=clock)
    assert 58 <= clock.monotonic() <= 61
    assert leftovers(store) == []


def test_row_10_a_pause_is_capped(origin: Path, store: Store) -> None:
    clock = FakeClock()
    with serve(store=origin, faults=always(Throttle(retry_after=86_400, times=1))) as server:
        fetch(store, server.url, clock=clock)
    assert clock.monotonic() == pytest.approx(120)


def test_row_10_throttled_to_the_end_is_transient(origin: Path, store: Store) -> None:
    with serve(store=origin, faults=always(Throttle(retry_after=0))) as server:
        error = failing(store, server.url)
        assert len(server.requests) == 1 + len(QUICK.delays)
    assert error.code == "artifact/throttled"
    assert error.transient


# Row 11: a login page with status 200.


def test_row_11_a_login_page_is_called_what_it_is(origin: Path, store: Store) -> None:
    with serve(store=origin, faults=always(CaptivePortal())) as server:
        error = failing(store, server.url)
        assert len(server.requests) == 1
    assert error.code == "artifact/intercepted"
    assert not error.transient
    assert "web page" in error.message


def test_row_11_a_source_behind_no_portal_still_serves(origin: Path, store: Store) -> None:
    with serve(store=origin, faults=always(CaptivePortal())) as portal, serve(store=origin) as good:
        assert fetch(store, portal.url, good.url).read_bytes() == DATA


# Row 12: an untrusted TLS certificate.


@pytest.fixture
def authority() -> CertificateAuthority:
    return create_authority("A test's own authority")


@pytest.fixture
def tls(authority: CertificateAuthority, tmp_path: Path) -> TlsFiles:
    identity = Identity(
        common_name="mirror", addresses=(ip_address("127.0.0.1"),), usages=(Usage.SERVER,), days=1
    )
    return authority.issue(identity).write(tmp_path / "tls", "server")


@pytest.fixture
def ca_bundle(authority: CertificateAuthority, tmp_path: Path) -> Path:
    path = tmp_path / "ca.pem"
    path.write_bytes(authority.certificate)
    return path


@pytest.mark.parametrize("flaw", list(TlsFlaw))
def test_row_12_an_untrusted_certificate_is_terminal(
    origin: Path,
    store: Store,
    tls: TlsFiles,
    authority: CertificateAuthority,
    ca_bundle: Path,
    flaw: TlsFlaw,
) -> None:
    settings = HttpSettings(ca_bundle=ca_bundle, idle_timeout=2)
    faults = always(BadTls(flaw=flaw))
    with serve(store=origin, faults=faults, tls=tls, authority=authority) as server:
        error = failing(store, server.url, settings=settings)
    assert error.code == "artifact/untrusted-tls"
    assert not error.transient


def test_row_12_an_authority_that_nobody_named_is_not_trusted(
    origin: Path, store: Store, tls: TlsFiles
) -> None:
    with serve(store=origin, tls=tls) as server:
        error = failing(store, server.url)
    assert error.code == "artifact/untrusted-tls"
    assert "--ca-bundle" in error.hint


def test_row_12_the_users_own_authority_is_trusted(
    origin: Path, store: Store, tls: TlsFiles, ca_bundle: Path
) -> None:
    with serve(store=origin, tls=tls) as server:
        settings = HttpSettings(ca_bundle=ca_bundle, idle_timeout=5)
        assert fetch(store, server.url, settings=settings).read_bytes() == DATA


# Row 13: DNS timeout, and a name that does not exist.

DNS = """
import json, socket, sys, threading
from pathlib import Path
sys.path.insert(0, {tests!r})
from flexnode.artifacts import Fetcher, HttpSettings, Limits, Store, open_sources
from flexnode.clock import SystemClock
from flexnode.errors import FlexError
from unit.artifacts.samples import artifact_of, leftovers

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
questions = []
def answer():
    while True:
        question, client = server.recvfrom(4096)
        questions.append(question)
        if {silent}:
            continue
        flags = b"\\x81\\x83"  # a response: recursion available, NXDOMAIN
        server.sendto(question[:2] + flags + question[4:6] + bytes(6) + question[12:], client)
threading.Thread(target=answer, daemon=True).start()

clock, store = SystemClock(), Store(Path("store"))
with open_sources(["http://mirror.example"], settings=HttpSettings(), clock=clock) as sources:
    try:
        fetcher = Fetcher(store, sources, clock=clock, limits=Limits(delays=(0.01, 0.01)))
        fetcher.fetch(artifact_of(b"x"))
    except FlexError as error:
        print(json.dumps({{**error.record(), "left": leftovers(store), "questions": len(questions)}}))
"""

NAME_SERVER = """
printf 'nameserver 127.0.0.1\\noptions timeout:1 attempts:1\\n' > resolv.conf
printf 'hosts: files dns\\n' > nsswitch.conf
mount --bind resolv.conf "$(readlink -f /etc/resolv.conf)"
mount --bind nsswitch.conf /etc/nsswitch.conf
"""


@pytest.mark.parametrize(
    ("silent", "code", "kind"),
    [(True, "artifact/dns-timeout", "transient"), (False, "artifact/dns-nxdomain", "terminal")],
    ids=["timeout", "nxdomain"],
)
def test_row_13_dns(tmp_path: Path, silent: bool, code: str, kind: str) -> None:
    script = DNS.format(tests=str(Path(__file__).parents[1]), silent=silent)
    told = run_isolated(script, setup=NAME_SERVER, folder=tmp_path)
    assert (told["code"], told["kind"]) == (code, kind)
    assert (
        told["questions"] >= 3
    )  # one per attempt at least: a resolver that is still starting gets its chance
    assert told["left"] == []


# Row 14: a proxy that refuses, or asks for a password.


def through(proxy: str) -> HttpSettings:
    proxies = load_proxies({"http_proxy": proxy, "https_proxy": proxy})
    return HttpSettings(proxies=proxies, idle_timeout=2, connect_timeout=2)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_row_14_a_proxy_that_nobody_answers_for_is_transient(store: Store, scheme: str) -> None:
    proxy = f"http://user:hunter2@127.0.0.1:{closed_port()}"
    error = failing(store, f"{scheme}://mirror.example", settings=through(proxy))
    assert error.code == "artifact/proxy-refused"
    assert error.transient
    assert "hunter2" not in error.message


def test_row_14_a_proxy_that_refuses_the_host_is_transient(store: Store) -> None:
    with answering(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") as proxy:
        error = failing(store, "https://mirror.example", settings=through(proxy.url))
    assert error.code == "artifact/proxy-refused"
    assert error.transient
    assert proxy.heads[0].startswith("CONNECT mirror.example:443")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_row_14_a_proxy_that_wants_a_password_is_terminal(store: Store, scheme: str) -> None:
    reply = b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n'
    with answering(reply + b"Content-Length: 0\r\n\r\n") as proxy:
        error = failing(store, f"{scheme}://mirror.example", settings=through(proxy.url))
    assert error.code == "artifact/proxy-auth"
    assert not error.transient
    assert len(proxy.heads) == 1


def test_row_14_a_proxy_that_works_is_used_and_gets_its_password(store: Store) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(DATA)}\r\nConnection: close\r\n\r\n".encode()
    with answering(head + DATA) as proxy:
        address = proxy.url.replace("://", "://user:hunter2@")
        assert fetch(store, "http://mirror.example", settings=through(address)).read_bytes() == DATA
    assert proxy.heads[0].startswith(f"GET http://mirror.example/sha256/{ARTIFACT.sha256} ")
    assert "Proxy-Authorization: Basic " in proxy.heads[0]


def test_row_14_a_host_in_no_proxy_is_reached_directly(origin: Path, store: Store) -> None:
    # The machine itself never goes through a proxy, so this one, which refuses, is not asked.
    proxies = load_proxies({"http_proxy": f"http://127.0.0.1:{closed_port()}", "no_proxy": "10.0.0.0/8"})
    with serve(store=origin) as server:
        settings = HttpSettings(proxies=proxies, idle_timeout=5)
        assert fetch(store, server.url, settings=settings).read_bytes() == DATA


# Row 1, as far as files are concerned: killed in the middle of a download.


KILLED = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from flexnode.artifacts import Fetcher, Store, Stream
from flexnode.clock import SystemClock
from unit.artifacts.samples import artifact_of, content

class Source:
    place = "source"
    def offers(self, artifact): return (self,)
    @contextmanager
    def open(self, offset): yield Stream(chunks=self.chunks(), total=3_000_000)
    def chunks(self):
        yield content(3_000_000)[:2_000_000]
        os.kill(os.getpid(), signal.SIGKILL)  # what was yielded has been written by now

Fetcher(Store(Path(sys.argv[1])), [Source()], clock=SystemClock()).fetch(artifact_of(content(3_000_000)))
"""


def test_row_1_a_killed_download_resumes_where_it_was(origin: Path, store: Store) -> None:
    run(
        Command(
            argv=(sys.executable, "-c", KILLED, str(store.root)),
            env={"PYTHONPATH": str(Path(__file__).parents[1])},
            expect=(-signal.SIGKILL,),
        )
    )
    assert store.digests() == ()
    with serve(store=origin) as server:
        assert fetch(store, server.url).read_bytes() == DATA
        assert [request.range for request in server.requests] == ["bytes=2000000-"]
    assert leftovers(store) == []
