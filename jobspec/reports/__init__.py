"""The results of files as text for people, and in formats that programs read."""
