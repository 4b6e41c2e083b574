"""A project's variants, and the tree that they render to."""
