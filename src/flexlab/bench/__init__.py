"""Measurements of the product on the laboratory, each beside what it is compared with."""
