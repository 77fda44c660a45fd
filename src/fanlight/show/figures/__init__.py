"""Figures and whatever else a notebook can show, and the chart libraries that Views load."""
