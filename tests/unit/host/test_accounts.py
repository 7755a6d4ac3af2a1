"""Users and groups are those in the machine's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.host.accounts import FileAccounts
from flexnode.host.door import Account
from unit.host.programs import Programs, fails, make_files

PASSWD = "root:x:0:0:root:/root:/bin/bash\nproxy:x:13:13::/bin:/usr/sbin/nologin\n"
GROUP = "root:x:0:\nproxy:x:13:\nlonely:x:99:\n"


def accounts(root: Path, programs: Programs, *, elsewhere: bool = False) -> FileAccounts:
    files = make_files(root, etc__passwd=PASSWD, etc__group=GROUP)
    return FileAccounts(files=files, run=programs.run, root=root if elsewhere else None)


def test_names_are_whole_names(tmp_path: Path) -> None:
    found = accounts(tmp_path, Programs())
    assert found.has_user("proxy")
    assert not found.has_user("prox")
    assert found.has_group("lonely")
    assert not FileAccounts(files=make_files(tmp_path / "empty")).has_user("root")


def test_a_new_user_has_no_home_made_and_a_group_of_its_own(tmp_path: Path) -> None:
    programs = Programs()
    found = accounts(tmp_path, programs)
    found.add_user(Account(name="sample"))
    found.add_user(Account(name="lonely"))
    rest = "--home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin"
    assert programs.lines == [
        f"useradd --system --user-group {rest} sample",
        f"useradd --system --gid lonely {rest} lonely",
    ]


def test_what_is_so_already_is_left_alone(tmp_path: Path) -> None:
    programs = Programs()
    found = accounts(tmp_path, programs)
    found.add_user(Account(name="proxy"))
    found.add_group("proxy")
    found.remove_user("nobody-here")
    found.remove_group("nobody-here")
    assert programs.commands == []


def test_a_users_home_is_not_removed_with_it(tmp_path: Path) -> None:
    programs = Programs()
    accounts(tmp_path, programs).remove_user("proxy")
    assert programs.lines == ["userdel proxy", "groupdel proxy"]


def test_in_an_image_nothing_of_it_is_run(tmp_path: Path) -> None:
    programs = Programs()
    accounts(tmp_path, programs, elsewhere=True).add_group("sample")
    assert programs.lines == [f"groupadd --prefix {tmp_path} --system sample"]


@pytest.mark.parametrize(
    "answer",
    [
        fails("userdel: user proxy is currently used by process 7", 8),
        fails("userdel: cannot lock /etc/passwd"),
    ],
)
def test_a_user_in_use_can_be_removed_later(answer: object, tmp_path: Path) -> None:
    programs = Programs({"userdel": [answer]})  # type: ignore[list-item]
    with pytest.raises(FlexError) as caught:
        accounts(tmp_path, programs).remove_user("proxy")
    assert caught.value.code == "host/busy"
    assert caught.value.transient
