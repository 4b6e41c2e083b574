"""The role of each file of a repository, its builds, and the origins of built values."""
