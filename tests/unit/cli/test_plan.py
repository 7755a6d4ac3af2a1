"""A plan tells each change, what restarts, and what it costs; as text and for programs."""

from __future__ import annotations

import json

from flexnode.cli.plan import plan_data, render_plan
from flexnode.generation import Plan
from flexnode.resources import Change, Disruption
from flexnode.resources.state import Absent, File, Secret, Text, Unit

CONTENT = "the content of a file"
PLAN = Plan(
    target="abc",
    current="def",
    changes=(
        Change(
            key="file:/etc/one",
            before=Absent(),
            after=File(content=Text(text=CONTENT)),
            disruption=Disruption.RESTART_KUBELET,
        ),
        Change(
            key="file:/etc/two",
            before=Absent(),
            after=File(content=Secret(template="token: {{bootstrap-token}}", names=("bootstrap-token",))),
        ),
        Change(key="unit:kubelet.service", before=Unit(active=False), after=Unit(active=True)),
    ),
    restarts=("containerd.service", "kubelet.service"),
    reloads=("systemd-journald.service",),
    kept=("/etc/mine",),
    disruption=Disruption.RESTART_KUBELET,
)


def test_people_read_one_line_for_each_thing_and_the_cost_last() -> None:
    lines = render_plan(PLAN).splitlines()
    assert lines == [
        "  write /etc/one",
        "  write /etc/two",
        "  start kubelet.service",
        "  restart containerd.service, kubelet.service",
        "  reload systemd-journald.service",
        "  keep /etc/mine: it was edited",
        "3 changes, disruption: restart-kubelet",
    ]


def test_nothing_to_do_is_said_in_so_many_words() -> None:
    assert render_plan(Plan(target="abc")) == "nothing to do"


def test_programs_get_the_same_without_contents() -> None:
    data = json.loads(json.dumps(plan_data(PLAN)))
    assert data["disruption"] == "restart-kubelet"
    assert data["changes"][0] == {
        "key": "file:/etc/one",
        "summary": "write /etc/one",
        "disruption": "restart-kubelet",
    }
    assert data["restarts"] == ["containerd.service", "kubelet.service"]
    assert CONTENT not in json.dumps(data)
