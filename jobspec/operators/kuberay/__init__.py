"""What KubeRay makes of RayClusters, RayJobs, RayServices and RayCronJobs, what its validation refuses, and the names that it gives."""

API_VERSION = "ray.io/v1"
#: The labels that KubeRay writes on what belongs to a cluster: the name of the cluster, `head` or `worker`, and the group.
CLUSTER, NODE_TYPE, GROUP = "ray.io/cluster", "ray.io/node-type", "ray.io/group"
HEAD, WORKER = "head", "worker"
#: The value of the label `GROUP` on the head pod.
HEAD_GROUP = "headgroup"
#: The label of what a RayJob or RayService makes: the kind of the maker. A label beside it has the name.
MAKER_KIND, MAKER_NAME = "ray.io/originated-from-crd", "ray.io/originated-from-cr-name"
#: Annotations by which a user turns on what KubeRay does not do by itself.
OVERWRITE, FAULT_TOLERANT, STORAGE_NAMESPACE = "ray.io/overwrite-container-cmd", "ray.io/ft-enabled", "ray.io/external-storage-namespace"
SERVES = "ray.io/enable-serve-service"
#: The variable of the head that chooses the second version of the autoscaler, and that in which KubeRay gives the autoscaler's command.
SECOND_VERSION, AUTOSCALER_COMMAND = "RAY_enable_autoscaler_v2", "KUBERAY_GEN_AUTOSCALER_START_CMD"
#: The modes in which a RayJob is submitted; the first is that of a RayJob that names none.
JOB_MODE, SIDECAR_MODE, HTTP_MODE, INTERACTIVE_MODE = "K8sJobMode", "SidecarMode", "HTTPMode", "InteractiveMode"
#: The controller that manages a Ray object that names none.
CONTROLLER = "ray.io/kuberay-operator"

#: The ports of the head, by the names that KubeRay looks for.
PORTS = {"client": 10001, "dashboard": 8265, "gcs-server": 6379, "metrics": 8080, "serve": 8000}
#: Containers that KubeRay adds: to the head where it scales the cluster, to each worker, and to submit a job.
AUTOSCALER, WAITER, SUBMITTER = "autoscaler", "wait-gcs-ready", "ray-job-submitter"

#: Kind -> the path of the spec of its cluster.
CLUSTER_SPECS: dict[str, tuple[str, ...]] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
    "RayCronJob": ("spec", "jobTemplate", "rayClusterSpec"),
}
#: Kind -> the path of the spec of its RayJob.
JOB_SPECS: dict[str, tuple[str, ...]] = {"RayJob": ("spec",), "RayCronJob": ("spec", "jobTemplate")}
