"""The journey of files to results: read, apply overlays, judge in a world, foresee, relate."""
