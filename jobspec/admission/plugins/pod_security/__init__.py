"""Pod Security: what the labels of a namespace forbid its pods.

Follows k8s.io/pod-security-admission 0.36.3, with the defaults that the server has without a configuration file: `privileged` where no
label says more, and no exemptions.
"""
