"""Sinks of the published tables, and the readers over them."""
