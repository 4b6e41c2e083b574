"""Advice: what a server accepts, what will run, and what bites: slow, costly, fragile, wrong on another node."""
