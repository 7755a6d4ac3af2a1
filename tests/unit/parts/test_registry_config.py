"""What a lab's registry is told."""

from __future__ import annotations

import yaml

from flexlab.registry import render_config


def test_a_lab_serves_over_tls_and_only_reads() -> None:
    text = render_config(
        listen="10.0.0.1:5000", storage="/cache/registry", certificate="/c.crt", key="/c.key"
    )
    config = yaml.safe_load(text)
    assert config["http"]["addr"] == "10.0.0.1:5000"
    assert config["http"]["tls"] == {"certificate": "/c.crt", "key": "/c.key"}
    assert config["storage"]["filesystem"] == {"rootdirectory": "/cache/registry"}
    assert config["storage"]["maintenance"]["readonly"] == {"enabled": True}
    # Many labs share the folder: one that purges would take from the others.
    assert config["storage"]["maintenance"]["uploadpurging"] == {"enabled": False}
