"""Fixes: remedies made in the text of a file, where every other byte stays as it is."""
