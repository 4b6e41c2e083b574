"""A job turned into one of another kind or release, and what is different, told from the pods of both sides."""
