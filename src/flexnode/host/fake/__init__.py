"""A machine in memory: every door of the host, for tests and demonstrations."""

from flexnode.host.fake.host import FakeHost
from flexnode.host.fake.packages import render_deb

__all__ = ["FakeHost", "render_deb"]
