"""Variables and flags reach the setting that they name, or the user learns which one was meant."""

from __future__ import annotations

import pytest

from flexnode.config import v1
from flexnode.config.environment import decode_environment, decode_sets, variable_name
from flexnode.config.problems import Problem
from flexnode.config.tree import settings
from unit.config.samples import CA, CLIENT_SECRET, TOKEN


def problem_of(layers: list) -> Problem:  # type: ignore[type-arg]
    (problem,) = [problem for layer in layers for problem in layer.problems]
    found: Problem = problem
    return found


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("FLEXNODE_KUBELET__MAXPODS", "50", {"kubelet": {"maxPods": 50}}),
        ("FLEXNODE_KUBELET__MAX_PODS", "50", {"kubelet": {"maxPods": 50}}),
        ("flexnode_kubelet__maxpods", "50", {"kubelet": {"maxPods": 50}}),
        ("FLEXNODE_KUBELET__POD_PIDS_LIMIT", "-1", {"kubelet": {"podPidsLimit": -1}}),
        ("FLEXNODE_HOST__MANAGE_SWAP", "False", {"host": {"manageSwap": False}}),
        ("FLEXNODE_NODE__NAME", "7", {"node": {"name": "7"}}),
        ("FLEXNODE_VERSIONS__KUBERNETES", "1.30", {"versions": {"kubernetes": "1.30"}}),
        ("FLEXNODE_NODE__TAINTS", '["a:NoExecute"]', {"node": {"taints": ["a:NoExecute"]}}),
        ("FLEXNODE_NODE__LABELS", '{"a/b": "c"}', {"node": {"labels": {"a/b": "c"}}}),
        ("FLEXNODE_NODE", '{"name": "a"}', {"node": {"name": "a"}}),
        ("FLEXNODE_AUTH__MANAGED_IDENTITY", "{}", {"auth": {"managedIdentity": {}}}),
        ("FLEXNODE_AUTH__BOOTSTRAP_TOKEN", '{"file": "/t"}', {"auth": {"bootstrapToken": {"file": "/t"}}}),
        ("FLEXNODE_CLUSTER__CA", CA, {"cluster": {"ca": CA}}),
    ],
)
def test_a_variable_sets_its_setting(name: str, text: str, data: dict[str, object]) -> None:
    (layer,) = decode_environment({name: text, "PATH": "/bin", "FLEXNODES": "x", "MY_FLEXNODE_A": "x"})
    assert layer.problems == ()
    assert layer.data == data
    assert layer.origin == f"environment {name}"


def test_every_setting_has_a_variable() -> None:
    for path, _ in settings(v1.NODE_CONFIG):
        if {"*", "[]"} & set(path):
            continue
        (layer,) = decode_environment({variable_name(path): "{"})
        assert all(problem.what != "is not a setting" for problem in layer.problems)
        assert all(problem.path == path for problem in layer.problems)


@pytest.mark.parametrize(
    ("name", "text", "what", "hint"),
    [
        ("FLEXNODE_KUBELET__MAXPOD", "5", "is not a setting", "FLEXNODE_KUBELET__MAX_PODS?"),
        ("FLEXNODE_MAX_PODS", "5", "is not a setting", "FLEXNODE_KUBELET__MAX_PODS?"),
        (
            "FLEXNODE_NODE__LABELS__A",
            "b",
            "is not a setting",
            "FLEXNODE_NODE__LABELS takes the value as a whole",
        ),
        ("FLEXNODE_", "b", "is not a setting", ""),
        ("FLEXNODE_KUBELET__MAX_PODS", "many", "is not a whole number", ""),
        ("FLEXNODE_KUBELET__MAX_PODS", "9" * 5000, "is not a whole number", ""),
        ("FLEXNODE_HOST__MANAGE_SWAP", "yes", "is not true or false", ""),
        ("FLEXNODE_NODE__TAINTS", "a:NoExecute", "is not a list in JSON", ""),
        ("FLEXNODE_NODE__LABELS", "a=b", "is not a map in JSON", ""),
        ("FLEXNODE_NODE__LABELS", "[]", "is not a map", ""),
        ("FLEXNODE_NODE__LABELS", '{"a": "b", "a": "c"}', "is written twice", "keep one"),
        ("FLEXNODE_AUTH__BOOTSTRAP_TOKEN", "{", "is not a map in JSON", ""),
        ("FLEXNODE_AUTH__BOOTSTRAP_TOKEN", "abc", "is not a bootstrap token", "[a-z0-9]{6}"),
    ],
)
def test_a_wrong_variable_is_told_by_its_name(name: str, text: str, what: str, hint: str) -> None:
    problem = problem_of(decode_environment({name: text}))
    assert problem.origin == f"environment {name}"
    assert what in problem.what
    assert hint in problem.hint


def test_two_variables_of_one_setting_are_refused() -> None:
    layers = decode_environment({"FLEXNODE_KUBELET__MAXPODS": "5", "FLEXNODE_KUBELET__MAX_PODS": "6"})
    problem = problem_of(layers)
    assert problem.what == "is set twice"
    assert "FLEXNODE_KUBELET__MAXPODS means the same" in problem.hint


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("kubelet.maxPods=50", {"kubelet": {"maxPods": 50}}),
        ("node.labels.example.com/rack=17", {"node": {"labels": {"example.com/rack": "17"}}}),
        ("node.annotations.a=b=c", {"node": {"annotations": {"a": "b=c"}}}),
        (
            "kubelet.evictionHard.memory.available=5%",
            {"kubelet": {"evictionHard": {"memory.available": "5%"}}},
        ),
        ("kubelet.featureGates.Thing=true", {"kubelet": {"featureGates": {"Thing": True}}}),
        (
            'runtime.registries.docker.io={"mirrors": ["http://m"]}',
            {"runtime": {"registries": {"docker.io": {"mirrors": ["http://m"]}}}},
        ),
        ('auth.bootstrapToken={"credential": "t"}', {"auth": {"bootstrapToken": {"credential": "t"}}}),
    ],
)
def test_a_flag_sets_its_setting(text: str, data: dict[str, object]) -> None:
    (layer,) = decode_sets([text])
    assert layer.problems == ()
    assert layer.data == data
    assert layer.origin == "--set"


@pytest.mark.parametrize(
    ("text", "path", "what", "hint"),
    [
        ("kubelet.maxPods", ("kubelet.maxPods",), "has no value", "PATH=VALUE"),
        ("=5", (), "has no value", "PATH=VALUE"),
        ("kubelet.maxpods=5", ("kubelet", "maxpods"), "is not a setting", "kubelet.maxPods?"),
        ("kubelet..maxPods=5", ("kubelet", ""), "is not a setting", ""),
        ("kubelet.maxPods.x=5", ("kubelet", "maxPods"), "is not a whole number", ""),
        ("node.labels.kubernetes.io/x=5", ("node", "labels", "kubernetes.io/x"), "may not label itself", ""),
        ("node=x", ("node",), "is not a map in JSON", ""),
    ],
)
def test_a_wrong_flag_is_told_by_its_path(text: str, path: tuple[str, ...], what: str, hint: str) -> None:
    problem = problem_of(decode_sets([text]))
    assert problem.path == path
    assert what in problem.what
    assert hint in problem.hint


@pytest.mark.parametrize(
    "text",
    [
        f"auth.bootstrapToken={TOKEN}",
        f"auth.servicePrincipal.clientSecret={CLIENT_SECRET}",
        f'auth={{"servicePrincipal": {{"clientSecret": "{CLIENT_SECRET}"}}}}',
        f"proxy.http=http://me:{CLIENT_SECRET}@proxy:3128",
        f'artifacts.sources=["https://me:{CLIENT_SECRET}@mirror/x"]',
    ],
)
def test_a_secret_on_the_command_line_is_refused(text: str) -> None:
    """Every user of the machine can list the arguments of every process."""
    layers = decode_sets([text])
    problem = problem_of(layers)
    assert problem.what == "is a secret on the command line"
    assert layers[0].data == {}
    assert CLIENT_SECRET not in str(problem)
    assert TOKEN not in str(problem)
