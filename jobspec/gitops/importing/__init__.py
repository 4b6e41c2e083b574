"""Existing manifests to bases, the shipped overlays that explain them, and variants of a project."""
