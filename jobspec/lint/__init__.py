"""Advice on jobs that are accepted and run, but are slow, costly or fragile."""
