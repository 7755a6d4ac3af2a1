"""The health that kubelet tells on this machine, on its loopback port: no certificate, no API server."""

from __future__ import annotations

import http.client

HOST = "127.0.0.1"
PORT = 10248
TIMEOUT = 5.0


def find_kubelet_fault(host: str = HOST, port: int = PORT, timeout: float = TIMEOUT) -> str:
    """What is wrong with kubelet by its own account; empty if nothing is."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        text = answer.read(1000).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return f"kubelet does not answer on {host}:{port}: {error}"
    finally:
        connection.close()
    return "" if answer.status == http.client.OK else f"kubelet says that it is not healthy: {text}"
