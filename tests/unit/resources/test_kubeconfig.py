"""A kubeconfig of kubelet's leads elsewhere, and all else in it is as kubelet wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.host.fake import FakeHost
from flexnode.resources.state import Absent, Kubeconfig
from unit.resources.cases import KUBELETS, LOGIN, LOGINS
from unit.resources.samples import manage

NEW = Kubeconfig(server="https://new.example.com:6443")


def test_only_the_server_changes_and_the_certificate_stays_kubelets(tmp_path: Path) -> None:
    host = FakeHost()
    LOGINS["kubelet's"](host)
    manage(host, f"kubeconfig:{LOGIN}", NEW, tmp_path).converge()
    assert host.files.read(LOGIN).decode() == KUBELETS.replace("old", "new")
    info = host.files.find(LOGIN)
    assert info is not None
    assert (info.mode, info.gid) == (0o600, 7)


@pytest.mark.parametrize("scene", ["one that kubelet did not write", "one that is no file", "nothing"])
def test_what_kubelet_did_not_write_is_nobodys_to_lead_elsewhere(scene: str, tmp_path: Path) -> None:
    host = FakeHost()
    LOGINS[scene](host)
    managed = manage(host, f"kubeconfig:{LOGIN}", NEW, tmp_path)
    assert managed.find() == Absent()
    assert managed.converge() is None
