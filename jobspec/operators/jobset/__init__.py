"""What JobSet makes of a JobSet: Jobs and the headless Service through which their pods find each other."""

JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
"""Its `apiVersion` and `kind`."""
PREFIX = "jobset.sigs.k8s.io"
"""The group of the labels that JobSet writes."""
