"""Kinds and releases of the APIs, their CEL rules in Python, and the files that jobspec ships."""
