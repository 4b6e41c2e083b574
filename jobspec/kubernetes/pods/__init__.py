"""Pods, and templates of pods, as the API server's Go code judges them."""
