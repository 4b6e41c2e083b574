"""What a change of a project does: to fields, to the objects in the cluster, to pods, GPUs and cost."""
