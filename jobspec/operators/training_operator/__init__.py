"""What training-operator makes of a PyTorchJob: pods, services, and an autoscaler where it is elastic by metrics."""

REPLICA_TYPES = ("Master", "Worker")
"""The replica types of a PyTorchJob, in the order of their ranks."""
MANAGED_BY = ("spec", "runPolicy", "managedBy")
"""Where a PyTorchJob names what manages it."""
PORT, PORT_NUMBER = "pytorchjob-port", 23456
"""The port of the Master, which the operator adds to the training container where that has none of this name."""
WAITING_CONTAINER = "init-pytorch"
"""The init container that the operator adds to Workers, in which they wait for the Master's name."""
OBJECT_NAME = "{}-{}-{}"
"""The name of one replica's pod, and of its service: of the job, the replica type in small letters, and the index."""
WAIT = "err=1;for i in $(seq 100); do if nslookup {}; then err=0 && break; fi;echo waiting for master; sleep 2; done; exit $err"
WAITING: dict[str, object] = {
    "name": WAITING_CONTAINER,
    "image": "alpine:3.10",
    "imagePullPolicy": "IfNotPresent",
    "command": ["sh", "-c", WAIT],
    "resources": {"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}},
}
"""That container by the operator's own template, which puts the Master's name into its command."""
POLICIES_OF_PODS = {"ExitCode": "Never"}
"""The restart policy of a replica type -> that of its pods, where it is another: of `ExitCode`, the operator looks at the exit codes."""
SCRIPTS, SCRIPTS_PATH, HOSTS = "mpi-job-config", "/etc/mpi", "hostfile"
"""Of an MPIJob: the volume with its scripts, where the launcher has it, and the file in it that lists the hosts."""
