"""The gateway's daemon: `python -m flexlab.gateway --lab FOLDER --namespace FILE [--allow HOST]…`."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from flexlab.gateway import dhcp, dns, metadata, ntp, proxy
from flexlab.gateway.proxy import Outside
from flexlab.gateway.sockets import in_namespace, listen_tcp, listen_udp
from flexlab.gateway.zone import Zone
from flexlab.model import GATEWAY, METADATA, PROXY_PORT
from flexlab.network import BRIDGE

ENDING = {signal.SIGTERM, signal.SIGINT}

Answer = Callable[[bytes], bytes | None]


def serve_udp(server: socket.socket, answer: Answer, reply_to: tuple[str, int] | None = None) -> None:
    """Answer datagrams until the process ends; `reply_to` replaces the sender's address."""
    while True:
        packet, sender = server.recvfrom(4096)
        try:
            reply = answer(packet)
            if reply is not None:
                server.sendto(reply, reply_to or sender)
        except Exception as error:  # one bad packet or a lab file in mid-change must not end the service
            sys.stderr.write(f"gateway: {error!r} on a packet from {sender}\n")


def serve_dns_tcp(server: socket.socket, zone: Zone) -> None:
    """Some resolvers fall back to TCP; one question for each connection is enough for them."""
    while True:
        client, sender = server.accept()
        with client:
            try:
                client.settimeout(5)
                length = int.from_bytes(client.recv(2), "big")
                reply = dns.answer(client.recv(length), zone)
                if reply is not None:
                    client.sendall(len(reply).to_bytes(2, "big") + reply)
            except OSError as error:
                sys.stderr.write(f"gateway: {error!r} on a question from {sender}\n")


def serve_metadata(server: socket.socket, zone: Zone) -> None:
    """Answer metadata requests until the process ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = metadata.answer(self.path, headers, self.client_address[0], zone)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
    http.socket.close()
    http.socket = server
    http.server_name, http.server_port = str(METADATA), 80
    http.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lab", required=True, type=Path)
    parser.add_argument("--namespace", required=True, type=Path)
    parser.add_argument("--allow", action="append", default=[])
    args = parser.parse_args()
    # Blocked before any thread begins, so that only `sigwait` sees them.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    zone = Zone(lab_folder=args.lab)
    gateway = str(GATEWAY)
    outside = Outside(zone=zone, namespace=args.namespace, allowed=frozenset(args.allow))
    with in_namespace(args.namespace):
        services: tuple[tuple[Callable[..., None], tuple[object, ...]], ...] = (
            (serve_udp, (listen_udp(gateway, 53), lambda packet: dns.answer(packet, zone))),
            (serve_dns_tcp, (listen_tcp(gateway, 53), zone)),
            (
                serve_udp,
                (
                    listen_udp("0.0.0.0", 67, device=BRIDGE),  # noqa: S104 a lab's own network, one interface
                    lambda packet: dhcp.answer(packet, zone),
                    ("255.255.255.255", 68),
                ),
            ),
            (
                serve_udp,
                (
                    listen_udp(gateway, 123),
                    lambda packet: ntp.answer(packet, time.time() + zone.faults().clock_seconds),
                ),
            ),
            (serve_metadata, (listen_tcp(str(METADATA), 80), zone)),
            (proxy.serve, (listen_tcp(gateway, PROXY_PORT), outside)),
        )
    for serve, arguments in services:
        threading.Thread(target=serve, args=arguments, daemon=True).start()
    sys.stderr.write("serving\n")
    sys.stderr.flush()
    signal.sigwait(ENDING)


if __name__ == "__main__":
    main()
