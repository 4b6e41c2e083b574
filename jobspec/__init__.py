"""Declarative configuration and validation of Kubernetes training jobs."""

__version__ = "0.1.0"
