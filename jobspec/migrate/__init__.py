"""Migrate a job to another kind or release, and report what its pods lose."""
