"""Which diagnostics are reported: without those that comments, settings or a baseline of a repository leave out."""
