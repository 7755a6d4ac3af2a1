"""Measurements of the product on the laboratory, each beside what it is compared with."""

from flexlab.bench.report import Measurement, render_json, render_line, render_table, save_json
from flexlab.bench.run import PARTS, measure

__all__ = ["PARTS", "Measurement", "measure", "render_json", "render_line", "render_table", "save_json"]
