"""`python -m flexlab.artifact_server`: the server as a daemon of its own, ended by SIGTERM."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from flexlab.artifact_server.certificates import Certificates
from flexlab.artifact_server.faults import FaultFile, no_faults
from flexlab.artifact_server.server import Listener
from flexlab.artifact_server.state import State
from flexlab.pki import TlsFiles, load_authority
from flexnode.errors import FlexError, exit_code

ENDING = {signal.SIGTERM, signal.SIGINT}


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    # Blocked before any thread begins, so that only `sigwait` ever sees them.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    state = State(
        store=options.store, faults=FaultFile(options.faults) if options.faults else no_faults, log=log
    )
    try:
        with ExitStack() as stack:
            for listener in open_listeners(options, state, stack):
                log(f"serving {options.store} on {listener.url}")
            signal.sigwait(ENDING)
    except FlexError as error:
        log(f"error: {error.message}\n{error.hint}")
        return exit_code(error)
    return 0


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m flexlab.artifact_server", description=__doc__)
    parser.add_argument("--store", type=Path, required=True, help="folder that holds sha256/DIGEST files")
    parser.add_argument("--faults", type=Path, help="file of faults, read anew at each request")
    parser.add_argument("--http", type=parse_address, metavar="HOST:PORT", help="where to listen for HTTP")
    parser.add_argument("--https", type=parse_address, metavar="HOST:PORT", help="where to listen for HTTPS")
    parser.add_argument("--cert", type=Path, help="certificate for HTTPS")
    parser.add_argument("--key", type=Path, help="its key")
    parser.add_argument(
        "--authority",
        type=Path,
        metavar="DIR",
        help="folder with ca.crt and ca.key: makes bad-tls certificates that are signed well but wrong",
    )
    options = parser.parse_args(arguments)
    if not options.http and not options.https:
        parser.error("give --http, --https, or both")
    if options.https and not (options.cert and options.key):
        parser.error("--https needs --cert and --key")
    return options


def parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def open_listeners(options: argparse.Namespace, state: State, stack: ExitStack) -> list[Listener]:
    listeners = []
    if options.http:
        host, port = options.http
        listeners.append(Listener(host, port, state, None))
        stack.callback(listeners[-1].close)
    if options.https:
        authority = load_authority(options.authority) if options.authority else None
        certificates = Certificates(TlsFiles(certificate=options.cert, key=options.key), authority)
        host, port = options.https
        listeners.append(Listener(host, port, state, certificates))
        stack.callback(listeners[-1].close)
    return listeners


def log(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
