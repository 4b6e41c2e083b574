"""What mpi-operator makes of an MPIJob: a Service, the list of the hosts, keys for SSH, the workers, and the Job of the launcher."""

API_VERSION = "kubeflow.org/v2beta1"
"""The version of MPIJob that mpi-operator serves; that of training-operator is `kubeflow.org/v1`."""
LAUNCHER, WORKER = "Launcher", "Worker"
"""The replica types of an MPIJob; the operator ignores others."""
REPLICAS = ("spec", "mpiReplicaSpecs")
"""Where an MPIJob has its replica types."""
POLICY = ("spec", "runPolicy")
LIMITS = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
"""The fields of the run policy that the Job of the launcher has."""
CONTROLLER = "kubeflow.org/mpi-operator"
"""What an MPIJob without another manager says as `managedBy`."""
SSHD = ("/usr/sbin/sshd", "-De")
"""The command of a worker whose first container has neither `command` nor `args`."""
KEYS, HOSTS = "ssh-auth", "mpi-job-config"
"""The volumes with the keys and with the list of the hosts, which the operator adds."""
HOSTS_FOLDER = "/etc/mpi"
"""Where the launcher finds the list of the hosts."""
KEYS_FOLDER = "/root/.ssh"
"""Where an MPIJob that does not say it has its keys."""
OF_OWN_KEYS = ("id_rsa", ".ssh", "plm_rsh")
"""Words of command lines that have SSH use keys of their own, or copies of the mounted ones."""
