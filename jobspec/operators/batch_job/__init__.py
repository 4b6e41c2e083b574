"""What Kubernetes makes of a batch Job: its pods."""
