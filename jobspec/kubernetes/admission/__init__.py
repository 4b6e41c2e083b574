"""What the API server's own admission plugins decide on pods and claims, with those switched on that are by default.

Follows kube-apiserver 1.36. Input is plain data as YAML holds it, and the objects that are at hand; output are problems with paths in
the pod, and the pod as the plugins leave it.
"""
