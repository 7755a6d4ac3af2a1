"""Every refusal of the machine, translated once: which code, whether a retry can help, what to do next."""

from __future__ import annotations

import errno
from enum import StrEnum

from flexnode.errors import HostError


class Code(StrEnum):
    """Stable names of what a machine can refuse."""

    MISSING = "host/no-such-file"
    EXISTS = "host/exists"
    NOT_DIRECTORY = "host/not-a-directory"
    IS_DIRECTORY = "host/is-a-directory"
    NOT_FILE = "host/not-a-file"
    NOT_EMPTY = "host/not-empty"
    INVALID = "host/invalid"
    LOOP = "host/link-loop"
    NO_SPACE = "host/no-space"
    READ_ONLY = "host/read-only"
    PERMISSION = "host/permission"
    BUSY = "host/busy"
    IO = "host/io-error"
    UNIT_MISSING = "host/unit-missing"
    UNIT_MASKED = "host/unit-masked"
    UNIT_FAILED = "host/unit-failed"
    UNIT_IN_THE_WAY = "host/unit-file-in-the-way"
    UNIT_ANSWER = "host/unit-unclear"
    SYSTEMD_DOWN = "host/systemd-unavailable"
    SYSCTL_MISSING = "host/no-such-sysctl"
    SYSCTL_REFUSED = "host/sysctl-refused"
    MODULE_MISSING = "host/no-such-module"
    MODULE_BUSY = "host/module-in-use"
    MODULE_REFUSED = "host/module-refused"
    SWAP = "host/swap"
    UNSUPPORTED = "host/unsupported"
    FILTER_ANSWER = "host/packet-filter-unclear"
    PACKAGE_UNKNOWN = "package/unknown"
    PACKAGE_HELD = "package/held"
    PACKAGE_MISFIT = "package/does-not-fit"
    PACKAGE_LOCKED = "package/locked"
    PACKAGE_NETWORK = "package/no-network"
    PACKAGE_DIGEST = "package/digest-mismatch"
    PACKAGE_UNTRUSTED = "package/untrusted"
    PACKAGE_STALE = "package/list-out-of-date"
    PACKAGE_INTERRUPTED = "package/interrupted"
    PACKAGE_FAILED = "package/failed"
    RUNTIME_DOWN = "runtime/unavailable"
    RUNTIME_TIMEOUT = "runtime/timeout"
    RUNTIME_REFUSED = "runtime/refused"
    RUNTIME_ANSWER = "runtime/bad-answer"
    RUNTIME_NOT_FOUND = "runtime/not-found"
    RUNTIME_UNKNOWN_CALL = "runtime/unknown-call"
    IMAGE_MISSING = "runtime/no-such-image"
    PULL = "runtime/pull-failed"
    ARCHIVE = "runtime/bad-archive"
    SANDBOX = "runtime/sandbox-failed"


_TRANSIENT = frozenset(
    {
        Code.NO_SPACE,
        Code.BUSY,
        Code.SYSTEMD_DOWN,
        Code.MODULE_BUSY,
        Code.PACKAGE_LOCKED,
        Code.PACKAGE_NETWORK,
        Code.PACKAGE_STALE,
        Code.PACKAGE_INTERRUPTED,
        Code.PACKAGE_DIGEST,
        Code.RUNTIME_DOWN,
        Code.RUNTIME_TIMEOUT,
        Code.PULL,
    }
)

_HINTS = {
    Code.MISSING: "see what took it away, or put it there",
    Code.EXISTS: "look what lies there, and move or remove it",
    Code.NOT_DIRECTORY: "look what lies in the place of the directory, and move or remove it",
    Code.IS_DIRECTORY: "look what is in the directory, and move or remove it",
    Code.NOT_FILE: "look what lies in the place of the file, and move or remove it",
    Code.INVALID: "see dmesg: the kernel or the file system does not take this",
    Code.LOOP: "see where the links lead: namei PATH",
    Code.NO_SPACE: "free some space there, then run again",
    Code.BUSY: "see who uses it, and wait for its end",
    Code.UNIT_MISSING: "see systemctl list-unit-files; the package that brings the unit may be missing",
    Code.UNIT_FAILED: "see systemctl status and journalctl -u for that unit",
    Code.UNIT_IN_THE_WAY: "move the file in /etc/systemd/system away if nothing needs it",
    Code.UNIT_ANSWER: "see whether systemctl show answers for these units",
    Code.SYSTEMD_DOWN: "the machine is under heavy load, or about to shut down: try again; see journalctl -b",
    Code.SYSCTL_MISSING: "look whether the module that brings it is loaded",
    Code.SYSCTL_REFUSED: "set another value in host.sysctls",
    Code.MODULE_MISSING: "install the modules of the kernel that runs, or reboot into the one that has them",
    Code.MODULE_BUSY: "what uses it must end first; lsmod names it",
    Code.MODULE_REFUSED: "see dmesg; secure boot refuses modules that are not signed",
    Code.SWAP: "see swapon --show and dmesg",
    Code.UNSUPPORTED: "use a machine with a Debian or Ubuntu that is supported",
    Code.FILTER_ANSWER: "see nft --json list ruleset; its version may be too new for this program",
    Code.PACKAGE_UNKNOWN: "see apt-cache policy, and whether an archive in /etc/apt/sources.list.d has it",
    Code.PACKAGE_STALE: "run apt-get update, then try again",
    Code.PACKAGE_INTERRUPTED: "run dpkg --configure -a, then try again",
    Code.PACKAGE_FAILED: "run the same with apt-get by hand to see all that it says",
    Code.RUNTIME_TIMEOUT: "see journalctl -u containerd; the disk or the machine may be overloaded",
    Code.RUNTIME_REFUSED: "see journalctl -u containerd",
    Code.RUNTIME_ANSWER: "see systemctl status containerd: something else may answer on its socket",
    Code.RUNTIME_NOT_FOUND: "it ended or was removed meanwhile; try again",
    Code.IMAGE_MISSING: "compare the reference with what the registry offers",
    Code.ARCHIVE: "make the archive anew; it must be an OCI archive with the names of its images",
    Code.SANDBOX: "see journalctl -u containerd; runc must be built with seccomp",
    Code.READ_ONLY: "mount the file system writable; a disk with errors turns read-only by itself: see dmesg",
    Code.PERMISSION: "run as root; root is refused on immutable files (lsattr) and by security modules",
    Code.NOT_EMPTY: "look what lies in it, and move or remove that",
    Code.IO: "the disk fails; see dmesg",
    Code.UNIT_MASKED: "systemctl unmask it, if it may run",
    Code.PACKAGE_LOCKED: "another package manager runs; wait for its end",
    Code.PACKAGE_NETWORK: "check /etc/apt/sources.list.d, the proxy, and the network",
    Code.PACKAGE_HELD: "apt-mark unhold it, or install it yourself",
    Code.PACKAGE_MISFIT: "make the bundle anew (aks-flex-node artifacts bundle) from an archive as new as"
    " this machine; with --no-packages apt's own archives are asked instead",
    Code.PACKAGE_UNTRUSTED: "the archive's key is missing or expired; see apt-get update",
    Code.PACKAGE_DIGEST: "the archive or a proxy in between is being updated, or lies; run apt-get update",
    Code.RUNTIME_UNKNOWN_CALL: "the runtime must speak CRI v1: containerd 2.0 or newer, with its cri plugin",
    Code.PULL: "check the registry, its mirrors below /etc/containerd/certs.d, and the proxy of containerd",
    Code.RUNTIME_DOWN: "see systemctl status containerd, and journalctl -u containerd",
}

NOTHING_THERE = (Code.MISSING, Code.NOT_DIRECTORY)
"""What a path is told to be whose file, or one of whose parents, does not exist."""

_BY_ERRNO = {
    errno.ENOENT: Code.MISSING,
    errno.EEXIST: Code.EXISTS,
    errno.ENOTDIR: Code.NOT_DIRECTORY,
    errno.EISDIR: Code.IS_DIRECTORY,
    errno.ENOTEMPTY: Code.NOT_EMPTY,
    errno.EINVAL: Code.INVALID,
    errno.ELOOP: Code.LOOP,
    errno.ENOSPC: Code.NO_SPACE,
    errno.EDQUOT: Code.NO_SPACE,
    errno.EROFS: Code.READ_ONLY,
    errno.EACCES: Code.PERMISSION,
    errno.EPERM: Code.PERMISSION,
    errno.EBUSY: Code.BUSY,
    errno.ETXTBSY: Code.BUSY,
}


def failure(code: Code, message: str, *, hint: str = "") -> HostError:
    """The error for `code`; a hint that knows more than the usual one goes before it."""
    return HostError(message, code=code.value, transient=code in _TRANSIENT, hint=hint or _HINTS[code])


def translate_os_error(error: OSError, what: str) -> HostError:
    """The error for a system call that failed while doing `what`, such as "write /etc/hosts"."""
    code = _BY_ERRNO.get(error.errno or 0, Code.IO)
    return failure(code, f"cannot {what}: {(error.strerror or str(error)).lower()}")
