"""Problems and results: diagnostics, rules and their findings, marks of places, results of files."""
