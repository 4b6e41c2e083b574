"""Advice: what a server accepts and what runs, but is slow, costly, fragile, or wrong on another node."""
