"""The whole agent as systemd starts it, on a machine without a configuration, in namespaces of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.isolation import run_isolated

SETUP = """
for folder in /run /var/log /var/lib /etc; do
  mkdir -p "$PWD$folder"
done
cp -a /etc/passwd /etc/group "$PWD/etc/"
cp -a --parents /var/lib/dpkg/status "$PWD" 2>/dev/null || :
for folder in /run /var/log /var/lib /etc; do
  mount --bind "$PWD$folder" $folder
done
"""

SCRIPT = """
import json, os, signal, socket, subprocess, sys

receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("/run/notify")
receiver.settimeout(60)
program = [sys.executable, "-c", "from flexnode.cli import main; main()"]
environ = {**os.environ, "NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "900000"}
agent = subprocess.Popen([*program, "agent"], env=environ, stderr=subprocess.PIPE, text=True)
heard = set()

def until(word):
    while not any(each.startswith(word) for each in heard):
        heard.add(receiver.recv(65536).decode())

until("READY=1")
until("STATUS=there is no configuration")
until("WATCHDOG=1")
second = subprocess.run([*program, "agent"], capture_output=True, text=True)
shown = subprocess.run([*program, "status", "--output", "json"], capture_output=True, text=True)
size = next(line for line in open(f"/proc/{agent.pid}/status") if line.startswith("VmRSS"))
heard.clear()
agent.send_signal(signal.SIGHUP)
until("RELOADING=1")
until("READY=1")
rollback = subprocess.run([*program, "rollback"], capture_output=True, text=True)
agent.send_signal(signal.SIGTERM)
until("STOPPING=1")
_, said = agent.communicate(timeout=60)
print(json.dumps({
    "code": agent.returncode,
    "said": said,
    "second": [second.returncode, second.stderr],
    "rollback": [rollback.returncode, rollback.stderr],
    "status": json.loads(shown.stdout),
    "megabytes": int(size.split()[1]) / 1024,
    "log": open("/var/log/aks-flex-node/aks-flex-node.log").read(),
}))
"""


@pytest.mark.timeout(120)
def test_it_is_ready_at_once_says_what_is_missing_and_ends_when_told(tmp_path: Path) -> None:
    told = run_isolated(SCRIPT, setup=SETUP, folder=tmp_path, timeout=100)
    assert told["code"] == 0
    assert "config/not-found" in told["said"]
    assert "config/not-found" in told["log"]
    assert told["second"][0] == 75
    assert "state/busy" in told["second"][1]
    assert told["status"]["agent_runs"] is True
    assert told["status"]["agent"]["failure"]["code"] == "config/not-found"
    assert told["rollback"][0] == 1
    refusal = "there is no generation before the current one"
    assert told["rollback"][1].count(refusal) == 1
    assert refusal in told["log"]
    assert "rollback ended: failed" in told["log"]
    assert told["megabytes"] < 45
