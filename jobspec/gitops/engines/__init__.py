"""The objects that tell Argo CD and Flux to sync a project's rendered tree, and what they need of the objects in it."""
