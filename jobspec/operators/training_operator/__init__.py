"""What training-operator makes of a PyTorchJob: pods, services, and an autoscaler where it is elastic by metrics."""
