"""What training-operator makes of a PyTorchJob: pods, services, and an autoscaler where it is elastic by metrics."""

PORT, PORT_NUMBER = "pytorchjob-port", 23456
"""The port of the Master, which the operator adds to the training container where that has none of this name."""
WAITING_CONTAINER = "init-pytorch"
"""The init container that the operator adds to Workers, in which they wait for the Master's name."""
