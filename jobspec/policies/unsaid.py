"""Why a policy cannot say a rule: what the rule reads, and a server does not show to CEL."""

from __future__ import annotations

_OTHERS = "it reads other objects than the one that is sent, such as queues, claims, Services or the job's own other objects"
_NODES = "it reads nodes or what is in use, which no policy sees"
_RUNTIME = "it reads the runtime of a TrainJob, which is another object"
_PROGRAM = "it reads command lines as shells, launchers and programs do, which is more than expressions can"
_OPERATOR = "it follows what the operator makes of the job, in several objects, or with numbers that the operator counts"
_FILES = "it is about files, Git and what applies them, not about the object that the server gets"
_RELEASE = "it depends on releases or feature gates, which the object does not say"
_SPELLING = "it compares how names are spelt, for which expressions have no function"
_OF_CONFIGURATION = "it is about objects that set up a cluster, not about jobs"
_DEFAULTS = "the server fills the field in before it asks a policy, which cannot see who wrote it"
_EMPTY = "the server drops an empty value, or takes it for 0, before it asks a policy"
_ADVICE = "it weighs what is right in one job and wrong in another: advice for a review, not a reason to refuse"

#: Reason -> the rules that no policy says for it.
REASONS: dict[str, tuple[str, ...]] = {
    _OTHERS: (
        *("pod-waits", "kind-not-queued", "admission-not-known", "undercounted-requests", "never-admitted", "never-fits", "pods-lost"),
        *("unknown-source", "unknown-key", "unknown-file", "blocked-by-policy", "existing-claim", "kept-claim", "unknown-service-account"),
        *("claim-of-one-node", "claim-of-one-pod", "read-only-claim", "taken-jobset-name", "taken-snapshot-name", "taken-job-name"),
        *("taken-service-name", "taken-mpi-name", "shared-subdomain", "shared-job-name", "queue-name-in-template", "time-limit-of-queue"),
        *("ineffective-annotation", "ineffective-label", "istio-sidecar", "ineffective-istio-key", "host-name-without-service"),
        *("tolerations-lost-at-admission", "unknown-topology-level", "implicit-runtime-kind", "gang-without-scheduler"),
        *("misspelt-priority-class", "shared-pod-name", "bucket-without-sidecar", "incomplete-pod-group", "unfit-volume-mode"),
    ),
    _NODES: ("unschedulable", "absent-topology", "queued-without-node", "topology-too-narrow"),
    _RUNTIME: (
        *("uncounted-accelerators", "replaced-variable", "ignored-resources", "kept-arguments", "command-of-several-jobs"),
        *("arguments-alone", "lost-tolerations", "overwritten-port", "launcher-only-image", "deadline-in-queue"),
        *("uncounted-group-resources", "overridden-variable", "replacing-variable", "unsupported-source"),
    ),
    _PROGRAM: (
        *("no-rendezvous", "trains-alone", "ranks-missing", "wrong-process-count", "unknown-address", "unknown-flag", "wrong-flag-value"),
        *("complete-without-training", "more-processes-than-gpus", "idle-gpus", "process-per-host-cpu", "backend-without-gpus"),
        *("slow-backend", "wrong-address", "overriding-flags", "ignored-by-static", "shared-run-id", "dead-address"),
        *(
            "download-in-every-pod",
            "shared-output",
            "undefined-variable",
            "unexpanded-variable",
            "variable-before-definition",
            "expanded-here-document",
        ),
        *("hardcoded-rank", "read-only-temporary", "output-in-container", "pinned-interface", "interface-pattern"),
        *("no-interface-left", "rdma-without-network", "fabric-without-device", "hidden-exit-code", "homeless-user", "gated-model"),
        *("more-processes-than-slots", "idle-hosts", "slots-beside-gpus", "mpi-container-not-first", "worker-without-ssh-server"),
        *("unusable-ssh-key", "ssh-server-of-another-user", "training-without-end", "missing-tf-config", "leader-waits-for-workers"),
        *("lost-exit-status", "file-not-executable", "commands-of-submitter", "unrequested-gpus", "vault-agent", "absent-gpu"),
        *("endpoint-of-no-pod", "closed-service-port", "ready-after-rendezvous", "missing-machine-rank"),
    ),
    _OPERATOR: (
        *("operator-crash", "autoscaler-refused", "no-pods-created", "never-started", "pods-refused", "service-refused"),
        *("jobset-not-updated", "job-refused", "ray-cluster-refused", "stateful-set-not-updated", "stateful-set-refused", "claim-refused"),
        *("group-name-taken", "head-unreachable", "never-submitted", "restarts-forever", "host-network-without-dns"),
        *("host-port-conflict", "elastic-range", "unreachable-failure-rule", "uncounted-restarts", "restart-rule-without-restarts"),
        *("repeated-initializer", "ttl-of-replicated-job", "exclusive-without-index", "gpus-of-launcher", "launcher-before-workers"),
        *("ignored-replica-type", "unknown-launcher-policy", "workers-run-on", "ttl-of-launcher", "exclusive-topology-on-pods"),
        *("leader-without-tpu-number", "name-at-its-limit", "ray-gpus-differ", "ray-version-differs", "replicas-below-minimum"),
        *("ignored-restart-policy", "unlimited-restarts", "partial-restart", "leftover-pods", "partial-gang"),
        *("unknown-replica-type", "uncounted-replica-type", "first-worker-ends-job", "unknown-success-policy"),
        *("unknown-main-container", "mpi-scripts-elsewhere", "sleeping-workers", "launcher-reaches-all-pods"),
        *("pod-resources-below-containers", "autoscaler-without-request"),
    ),
    _FILES: (
        *("captured-change", "renamed-rule", "unused-ignore", "stale-baseline", "unfilled-placeholder", "repeated-object"),
        *("generated-name", "ttl-in-git", "out-of-sync-value", "replace-without-force", "defaults-lost-in-apply"),
        *("needs-later-object", "claim-before-its-pod", "suspended-hook"),
        *("addition-lost-in-apply", "patches-lost-in-apply", "rewritten-quantity", "kind-of-another-group"),
        "unknown-sync-value",
    ),
    _RELEASE: ("old-trainer-in-queue", "gated-cron-job", "disabled-field", "long-replicated-job-name", "deprecated-kueue-api"),
    _SPELLING: ("misspelt-kueue-key",),
    _OF_CONFIGURATION: (
        "jobs-of-another-group",
        *("uncounted-quota", "unknown-cluster-queue", "unknown-flavor", "unknown-admission-check", "unknown-topology", "unknown-cohort"),
        *("unknown-check-parameters", "inactive-cluster-queue", "no-namespace-selector", "unreachable-cluster-queue"),
        *("flavor-without-nodes", "quota-without-nodes", "unfit-flavor-labels", "no-trainer-step", "no-framework-label"),
        *("unusable-runtime", "several-launchers", "no-processes", "both-gang-policies", "gang-with-initializers"),
    ),
    _DEFAULTS: ("unsuspended-in-queue",),
    _EMPTY: ("empty-quantity",),
    _ADVICE: (
        *(
            "needless-pull",
            "implicit-restart-policy",
            "sidecar-container",
            "ored-selector-terms",
            "foreign-scheduling-gate",
            "capability-without-root",
            "claim-without-scheduler",
        ),
    ),
}
