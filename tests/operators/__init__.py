"""Tests of `jobspec/operators`."""
