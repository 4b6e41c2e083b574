"""Overlays: named, typed layers that turn one plain job into its variants."""
