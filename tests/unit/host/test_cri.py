"""The container runtime over a real socket: its answers are understood, and waiting for them has an end."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.clock import FakeClock
from flexnode.errors import CommandError, FlexError
from flexnode.host import Command, Completed
from flexnode.host.cri import CriClient, CriRuntime
from flexnode.host.cri import messages as cri
from flexnode.host.cri.channel import Channel
from flexnode.host.cri.grpc import Status, frame, require_ok, unframe
from flexnode.host.cri.protobuf import ProtobufError, decode, encode
from unit.host.cri_server import CriServer, Reply
from unit.host.programs import Programs, fails

VERSION = cri.VersionResponse(runtime_name="containerd", runtime_version="v2.1.4", runtime_api_version="v1")
RUNNING, EXITED = cri.ContainerState.RUNNING, cri.ContainerState.EXITED
REFERENCE = "registry.test/pause:3.10"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "containerd.sock"


def always(reply: Reply) -> Callable[[str, bytes], Reply]:
    return lambda _method, _body: reply


def client(path: Path) -> CriClient:
    return CriClient(channel=Channel(path=str(path)))


def caught(act: Callable[[], object]) -> FlexError:
    with pytest.raises(FlexError) as info:
        act()
    return info.value


class Runtime:
    """A runtime with sandboxes, containers and images, behind the server."""

    def __init__(self) -> None:
        self.sandboxes: dict[str, cri.PodSandbox] = {}
        self.containers: dict[str, cri.Container] = {}
        self.images: dict[str, cri.Image] = {}
        self.calls: list[str] = []
        self.replies: dict[str, Reply] = {}

    def add_pod(self, name: str, *containers: str) -> None:
        metadata = cri.PodSandboxMetadata(name=name, namespace="default", uid=name)
        self.sandboxes[name] = cri.PodSandbox(id=name, metadata=metadata)
        for each in containers:
            self.containers[each] = cri.Container(id=each, pod_sandbox_id=name, state=RUNNING)

    def answer(self, method: str, body: bytes) -> Reply:
        name = method.rpartition("/")[2]
        self.calls.append(name)
        if name in self.replies:
            return self.replies[name]
        return Reply(message=getattr(self, name)(body))

    def ListPodSandbox(self, body: bytes) -> cri.ListPodSandboxResponse:
        wanted = decode(cri.ListPodSandboxRequest, body).filter
        labels = dict(wanted.label_selector).items() if wanted else ()
        found = (each for each in self.sandboxes.values() if set(labels) <= set(each.labels.items()))
        return cri.ListPodSandboxResponse(items=tuple(found))

    def ListContainers(self, _body: bytes) -> cri.ListContainersResponse:
        return cri.ListContainersResponse(containers=tuple(self.containers.values()))

    def StopContainer(self, body: bytes) -> cri.Empty:
        request = decode(cri.StopContainerRequest, body)
        assert request.timeout > 0
        self.containers.pop(request.container_id)
        return cri.Empty()

    def StopPodSandbox(self, body: bytes) -> cri.Empty:
        assert decode(cri.SandboxId, body).pod_sandbox_id
        return cri.Empty()

    def RemovePodSandbox(self, body: bytes) -> cri.Empty:
        self.sandboxes.pop(decode(cri.SandboxId, body).pod_sandbox_id)
        return cri.Empty()

    def RunPodSandbox(self, body: bytes) -> cri.SandboxId:
        config = decode(cri.RunPodSandboxRequest, body).config
        assert config is not None
        self.sandboxes["new"] = cri.PodSandbox(id="new", metadata=config.metadata, labels=config.labels)
        return cri.SandboxId(pod_sandbox_id="new")

    def ListImages(self, _body: bytes) -> cri.ListImagesResponse:
        return cri.ListImagesResponse(images=tuple(self.images.values()))

    def PullImage(self, body: bytes) -> cri.PullImageResponse:
        image = decode(cri.ImageRequest, body).image
        assert image is not None
        self.images[image.image] = cri.Image(id="sha256:0", repo_tags=(image.image,))
        return cri.PullImageResponse(image_ref="sha256:0")

    def RemoveImage(self, body: bytes) -> cri.Empty:
        image = decode(cri.ImageRequest, body).image
        assert image is not None
        self.images.pop(image.image, None)
        return cri.Empty()


@pytest.fixture
def runtime(path: Path) -> Runtime:
    return Runtime()


def test_an_answer_arrives_whole_however_it_is_cut(path: Path) -> None:
    for piece in (1, 3, 7, 1 << 14):
        with CriServer(path, always(Reply(message=VERSION, piece=piece))) as server:
            assert client(path).version() == VERSION
        path.unlink()
        assert server.seen == [("runtime.v1.RuntimeService/Version", b"")]
        assert server.headers[0]["grpc-timeout"] == "10000m"
        assert server.headers[0]["te"] == "trailers"


def test_an_answer_larger_than_any_window_arrives(path: Path) -> None:
    tags = ("registry.test/" + "x" * 200,)
    images = tuple(cri.Image(id=f"sha256:{number:064}", repo_tags=tags) for number in range(2000))
    with CriServer(path, always(Reply(message=cri.ListImagesResponse(images=images)))):
        assert client(path).list_images() == images


def test_a_request_larger_than_any_window_is_sent_as_there_is_room(path: Path) -> None:
    with CriServer(path, always(Reply(message=cri.PullImageResponse(image_ref="x")))) as server:
        client(path).pull_image("r" * 200_000)
    assert decode(cri.ImageRequest, server.seen[0][1]).image == cri.ImageSpec(image="r" * 200_000)


def test_a_runtime_that_is_not_there_can_be_asked_again(path: Path) -> None:
    error = caught(client(path).version)
    assert (error.code, error.transient) == ("runtime/unavailable", True)
    assert "containerd" in error.hint
    path.touch()
    assert caught(client(path).version).code == "runtime/unavailable"


@pytest.mark.parametrize("trailers_only", [True, False])
@pytest.mark.parametrize(
    ("status", "code", "transient"),
    [
        (Status.UNAVAILABLE, "runtime/unavailable", True),
        (Status.DEADLINE_EXCEEDED, "runtime/timeout", True),
        (Status.UNIMPLEMENTED, "runtime/unknown-call", False),
        (Status.NOT_FOUND, "runtime/not-found", False),
        (Status.UNKNOWN, "runtime/refused", False),
        (Status.INTERNAL, "runtime/refused", False),
        (99, "runtime/refused", False),
    ],
)
def test_every_status_is_a_failure_with_the_runtimes_words(
    status: int, code: str, transient: bool, trailers_only: bool, path: Path
) -> None:
    reply = Reply(status=status, words="not %22now%22%2C later", trailers_only=trailers_only)
    with CriServer(path, always(reply)):
        error = caught(client(path).version)
    assert (error.code, error.transient) == (code, transient)
    assert 'not "now", later' in error.message


def test_a_runtime_that_hangs_is_left_at_the_deadline(path: Path) -> None:
    with CriServer(path, always(Reply(silent=True))):
        channel = Channel(path=str(path))
        error = caught(lambda: channel.call("runtime.v1.RuntimeService/Version", b"", timeout=0.2))
    assert (error.code, error.transient) == ("runtime/timeout", True)
    assert "Version" in error.message


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(hangs_up=True), "runtime/unavailable"),
        (Reply(resets=True), "runtime/unavailable"),
        (Reply(garbage=True), "runtime/bad-answer"),
        (Reply(message=VERSION, http_status="404"), "runtime/bad-answer"),
        (Reply(message=VERSION, without_status=True), "runtime/bad-answer"),
        (Reply(raw=b""), "runtime/bad-answer"),
        (Reply(raw=b"\x00\x00"), "runtime/bad-answer"),
        (Reply(raw=b"\x01\x00\x00\x00\x01x"), "runtime/bad-answer"),
        (Reply(raw=frame(b"") * 2), "runtime/bad-answer"),
        (Reply(raw=frame(b"\xff\xff")), "runtime/bad-answer"),
    ],
)
def test_an_answer_that_breaks_the_protocol_is_a_failure_and_no_crash(
    reply: Reply, code: str, path: Path
) -> None:
    with CriServer(path, always(reply)):
        assert caught(client(path).version).code == code


def test_readiness_is_told_by_condition(path: Path) -> None:
    conditions = (
        cri.RuntimeCondition(type="RuntimeReady", status=True),
        cri.RuntimeCondition(type="NetworkReady", reason="NotReady", message="cni not initialized"),
    )
    reply = Reply(message=cri.StatusResponse(status=cri.RuntimeStatus(conditions=conditions)))
    with CriServer(path, always(reply)):
        assert client(path).conditions() == conditions


def test_all_pods_go_with_their_containers(path: Path, runtime: Runtime) -> None:
    runtime.add_pod("web", "web-1", "web-2")
    runtime.add_pod("db", "db-1")
    runtime.containers["db-old"] = cri.Container(id="db-old", pod_sandbox_id="db", state=EXITED)
    with CriServer(path, runtime.answer):
        assert CriRuntime(socket=str(path)).stop_all_pods() == ["default/db", "default/web"]
    assert runtime.sandboxes == {}
    assert set(runtime.containers) == {"db-old"}


def test_a_pod_that_somebody_else_just_removed_is_gone_too(path: Path, runtime: Runtime) -> None:
    runtime.add_pod("web", "web-1")
    for name in ("StopContainer", "StopPodSandbox", "RemovePodSandbox"):
        runtime.replies[name] = Reply(status=Status.NOT_FOUND, trailers_only=True)
    with CriServer(path, runtime.answer):
        assert CriRuntime(socket=str(path)).stop_all_pods() == ["default/web"]


def test_one_pod_that_does_not_stop_keeps_no_other_running(path: Path, runtime: Runtime) -> None:
    for name in ("a", "b", "c"):
        runtime.add_pod(name)
    whole = runtime.answer

    def answer(method: str, body: bytes) -> Reply:
        if method.endswith("/StopPodSandbox") and decode(cri.SandboxId, body).pod_sandbox_id == "a":
            return Reply(status=Status.UNKNOWN, words="stuck", trailers_only=True)
        return whole(method, body)

    with CriServer(path, answer):
        assert "stuck" in caught(CriRuntime(socket=str(path)).stop_all_pods).message
    assert set(runtime.sandboxes) == {"a"}


def test_a_sandbox_is_tried_with_what_pods_need_and_leaves_nothing(path: Path, runtime: Runtime) -> None:
    left = cri.PodSandbox(id="left", labels={"flexnode.io/purpose": "check"})
    runtime.sandboxes["left"] = left
    runtime.add_pod("web")
    with CriServer(path, runtime.answer) as server:
        CriRuntime(socket=str(path)).try_sandbox()
    assert set(runtime.sandboxes) == {"web"}
    (body,) = [body for method, body in server.seen if method.endswith("/RunPodSandbox")]
    config = decode(cri.RunPodSandboxRequest, body).config
    assert config is not None
    assert config.linux is not None
    assert config.linux.cgroup_parent.endswith(".slice")
    security = config.linux.security_context
    assert security is not None
    assert security.namespace_options == cri.NamespaceOption(network=cri.NamespaceMode.NODE)
    assert security.seccomp == cri.SecurityProfile(profile_type=cri.ProfileType.RUNTIME_DEFAULT)


def test_a_runc_without_seccomp_is_found_out_in_its_own_words(path: Path, runtime: Runtime) -> None:
    words = "failed to start sandbox: seccomp is not supported"
    runtime.replies["RunPodSandbox"] = Reply(status=Status.UNKNOWN, words=words, trailers_only=True)
    with CriServer(path, runtime.answer):
        error = caught(CriRuntime(socket=str(path)).try_sandbox)
    assert (error.code, error.transient) == ("runtime/sandbox-failed", False)
    assert words in error.message
    assert "seccomp" in error.hint


def test_a_pause_image_that_cannot_be_fetched_now_can_be_later(path: Path, runtime: Runtime) -> None:
    words = 'failed to get sandbox image "registry.test/pause:3.10": failed to pull image'
    runtime.replies["RunPodSandbox"] = Reply(status=Status.UNKNOWN, words=words, trailers_only=True)
    with CriServer(path, runtime.answer):
        error = caught(CriRuntime(socket=str(path)).try_sandbox)
    assert (error.code, error.transient) == ("runtime/pull-failed", True)


def archive(path: Path, *references: str) -> Path:
    index = path.with_suffix(".json")
    manifests = [{"annotations": {"io.containerd.image.name": each}} for each in references]
    index.write_text(json.dumps({"manifests": [*manifests, {}]}))
    with tarfile.open(path, "w") as tar:
        tar.add(index, "index.json")
    return path


def test_an_import_has_ended_when_the_image_can_be_seen(path: Path, runtime: Runtime, tmp_path: Path) -> None:
    clock = FakeClock()

    def appear(_command: Command) -> Completed:
        return Completed(returncode=0, stdout=b"", stderr=b"")

    whole = runtime.answer

    def answer(method: str, body: bytes) -> Reply:
        if len(clock.slept) == 3:
            runtime.images["pause"] = cri.Image(id="sha256:0", repo_tags=(REFERENCE,))
        return whole(method, body)

    programs = Programs({"ctr": [appear]})
    with CriServer(path, answer):
        found = CriRuntime(socket=str(path), run=programs.run, clock=clock)
        found.import_image(archive(tmp_path / "pause.tar", REFERENCE))
    (command,) = programs.commands
    assert command.argv[:5] == ("ctr", "--address", str(path), "--namespace", "k8s.io")
    assert len(clock.slept) == 3


def test_an_import_that_never_shows_is_a_failure(path: Path, runtime: Runtime, tmp_path: Path) -> None:
    with CriServer(path, runtime.answer):
        found = CriRuntime(socket=str(path), run=Programs().run, clock=FakeClock())
        error = caught(lambda: found.import_image(archive(tmp_path / "pause.tar", REFERENCE)))
    assert error.code == "runtime/timeout"
    assert REFERENCE in error.message


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ('ctr: failed to dial "/run/containerd/containerd.sock": connection refused', "runtime/unavailable"),
        ("ctr: archive/tar: invalid tar header", "runtime/refused"),
    ],
)
def test_a_failed_import_says_why(words: str, code: str, path: Path, tmp_path: Path) -> None:
    found = CriRuntime(socket=str(path), run=Programs({"ctr": [fails(words)]}).run)
    error = caught(lambda: found.import_image(archive(tmp_path / "pause.tar", REFERENCE)))
    assert error.code == code
    assert words.removeprefix("ctr: ") in error.message


def test_what_is_no_archive_of_images_is_refused_by_name(path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar"
    broken.write_bytes(b"nothing")
    found = CriRuntime(socket=str(path), run=Programs().run)
    error = caught(lambda: found.import_image(broken))
    assert error.code == "runtime/bad-archive"
    assert "broken.tar" in error.message


def test_images_are_known_by_tag_and_digest_and_come_and_go(path: Path, runtime: Runtime) -> None:
    digest = "registry.test/app@sha256:" + "0" * 64
    tags = ("registry.test/app:1",)
    runtime.images["app"] = cri.Image(id="sha256:1", repo_tags=tags, repo_digests=(digest,))
    with CriServer(path, runtime.answer):
        found = CriRuntime(socket=str(path))
        found.pull_image(REFERENCE)
        assert found.images() == {"registry.test/app:1", digest, REFERENCE}
        found.remove_image(REFERENCE)
        found.remove_image(REFERENCE)
        assert found.images() == {"registry.test/app:1", digest}


@pytest.mark.parametrize(
    ("status", "code", "transient"),
    [
        (Status.NOT_FOUND, "runtime/no-such-image", False),
        (Status.UNKNOWN, "runtime/pull-failed", True),
        (Status.UNAVAILABLE, "runtime/unavailable", True),
    ],
)
def test_a_pull_that_fails_says_whether_to_try_again(
    status: Status, code: str, transient: bool, path: Path, runtime: Runtime
) -> None:
    runtime.replies["PullImage"] = Reply(status=status, words="no", trailers_only=True)
    with CriServer(path, runtime.answer):
        error = caught(lambda: CriRuntime(socket=str(path)).pull_image(REFERENCE))
    assert (error.code, error.transient) == (code, transient)


def test_without_ctr_nothing_is_imported(path: Path, tmp_path: Path) -> None:
    found = CriRuntime(socket=str(path), run=Programs(absent=frozenset({"ctr"})).run)
    with pytest.raises(CommandError, match="was not found"):
        found.import_image(archive(tmp_path / "pause.tar", REFERENCE))


TEXTS = st.text(max_size=5)
LABELS = st.dictionaries(TEXTS, TEXTS, max_size=3)
NUMBERS = st.integers(min_value=-(1 << 63), max_value=(1 << 63) - 1)
METADATA = st.builds(cri.PodSandboxMetadata, name=TEXTS, uid=TEXTS, namespace=TEXTS, attempt=NUMBERS)
SANDBOXES = st.builds(cri.PodSandbox, id=TEXTS, metadata=st.none() | METADATA, state=NUMBERS, labels=LABELS)
IMAGES = st.builds(
    cri.Image,
    id=TEXTS,
    repo_tags=st.lists(TEXTS, max_size=3).map(tuple),
    repo_digests=st.lists(TEXTS, max_size=3).map(tuple),
)
CONDITIONS = st.builds(cri.RuntimeCondition, type=TEXTS, status=st.booleans(), reason=TEXTS, message=TEXTS)
MESSAGES = st.one_of(
    SANDBOXES,
    CONDITIONS,
    st.builds(cri.ListPodSandboxResponse, items=st.lists(SANDBOXES, max_size=3).map(tuple)),
    st.builds(cri.ListImagesResponse, images=st.lists(IMAGES, max_size=3).map(tuple)),
    st.builds(cri.StopContainerRequest, container_id=TEXTS, timeout=NUMBERS),
)


@given(MESSAGES)
def test_a_message_survives_its_journey(message: object) -> None:
    assert decode(type(message), encode(message)) == message


@given(MESSAGES, st.binary(max_size=30))
def test_fields_of_a_newer_runtime_are_skipped(message: object, content: bytes) -> None:
    unknown = b"\xf2\x3f" + bytes([len(content)]) + content  # field 1022
    fixed = b"\xf1\x3f" + b"8 bytes!" + b"\xf5\x3f" + b"four" + b"\xf0\x3f\x7f"
    assert decode(type(message), fixed + encode(message) + unknown) == message


@given(st.binary(max_size=200))
def test_no_bytes_are_a_crash(data: bytes) -> None:
    for of in (cri.ListPodSandboxResponse, cri.StatusResponse, cri.ListImagesResponse):
        try:
            assert isinstance(decode(of, data), of)
        except ProtobufError:
            continue


@pytest.mark.parametrize(
    ("message", "data"),
    [
        (cri.VersionResponse(runtime_name="a"), b"\x12\x01a"),
        (cri.StopContainerRequest(container_id="x", timeout=300), b"\x0a\x01x\x10\xac\x02"),
        (cri.StopContainerRequest(timeout=-1), b"\x10" + b"\xff" * 9 + b"\x01"),
        (cri.RuntimeCondition(status=True), b"\x10\x01"),
        (cri.PodSandbox(labels={"k": "v"}), b"\x2a\x06\x0a\x01k\x12\x01v"),
        (cri.Image(repo_tags=("", "b")), b"\x12\x00\x12\x01b"),
        (cri.RuntimeStatus(), b""),
    ],
)
def test_the_bytes_are_those_of_the_standard(message: object, data: bytes) -> None:
    assert encode(message) == data
    assert decode(type(message), data) == message


@given(st.binary(max_size=100))
def test_a_frame_holds_what_was_put_into_it(data: bytes) -> None:
    assert unframe(frame(data)) == data


def test_a_call_without_a_status_did_not_succeed() -> None:
    require_ok({"grpc-status": "0"}, "Version")
    for trailers in ({}, {"grpc-status": "-1"}, {"grpc-status": "none"}):
        assert caught(lambda trailers=trailers: require_ok(trailers, "Version")).code == "runtime/bad-answer"  # type: ignore[misc]
