"""Which diagnostics a repository has reported: it leaves out some by comments, names of rules, or a baseline of those it began with."""
