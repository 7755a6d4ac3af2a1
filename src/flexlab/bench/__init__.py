"""Measurements of the product on the laboratory, each beside what it is compared with."""

from flexlab.bench.agent import measure_agent
from flexlab.bench.floor import measure_floor
from flexlab.bench.report import Measurement, render_json, render_table, save_json

__all__ = ["Measurement", "measure_agent", "measure_floor", "render_json", "render_table", "save_json"]
