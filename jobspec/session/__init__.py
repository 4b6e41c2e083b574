"""One run: options, finding and reading files, Git, processes, progress, choosing what is reported, writing, fixing."""
