"""What training-operator makes of a PyTorchJob: pods, services, and an autoscaler where it is elastic by metrics."""

REPLICA_TYPES = ("Master", "Worker")
"""The replica types of a PyTorchJob, in the order of their ranks."""
MANAGED_BY = ("spec", "runPolicy", "managedBy")
"""Where a PyTorchJob names what manages it."""
PORT, PORT_NUMBER = "pytorchjob-port", 23456
"""The port of the Master, which the operator adds to the training container where that has none of this name."""
WAITING_CONTAINER = "init-pytorch"
"""The init container that the operator adds to Workers, in which they wait for the Master's name."""
