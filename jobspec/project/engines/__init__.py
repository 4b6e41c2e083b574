"""The objects by which Argo CD and Flux sync a project's rendered tree, and what they need of the objects in it."""
