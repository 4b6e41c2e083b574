"""The names and explanations of rules, and the stage of each; those of webhooks and of lint are beside their functions.

They are loaded with the first diagnostic: most files have none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    #: Who refuses: the server's decoder, its schemas and its own code, the operators' webhooks; jobspec itself, where it renders; or, of
    #: what the server has accepted, its operator; and nobody, where lint advises, or where a migration changes what a job means.
    Stage = Literal["decoding", "schema", "admission", "render", "outcome", "lint", "migration"]

#: Rules by their names, which are the ids in reports, the keys to ignore them and the arguments of `jobspec explain`; those of the
#: operators' webhooks stand beside their functions, and `catalogue.py` has all.
_DECODING = {
    "too-large": "The object is over 3 MiB as JSON, the limit of an API server for one request; or the file is over 256 MiB.",
    "not-utf8": "The file is not UTF-8 text. Save it as UTF-8.",
    "yaml-syntax": "The file is not valid YAML, so the API server cannot decode it.",
    "wrong-indentation": "A key is next to the field that it belongs in: the indentation was lost, often by copying.",
    "too-deep": "Values are nested more than 128 levels deep.",
    "excessive-aliasing": 'Aliases (`*name`) expand to far too many values (a "billion laughs" document); the API server refuses it.',
    "recursive-alias": "An alias is inside the value that it refers to, so the value would contain itself.",
    "unknown-tag": "A YAML tag (`!!name`) names a type that Kubernetes does not have. Write the plain value.",
    "unsupported-value": "The value cannot be represented in JSON: infinity, NaN, or a key that is null or not a scalar.",
    "duplicate-key": "An object sets a key twice: the API server refuses it. kustomize takes the last, or in a merge patch the first.",
    "ambiguous-merge": "A merge key (`<<`) comes after a key that it also sets: tools disagree about which value wins. Write `<<` first.",
    "unjudged-template": "The file is a template or has placeholders such as `${NAME}`, which cannot be checked; what it renders to can.",
    "not-a-manifest": "A manifest is an object with the strings `apiVersion` and `kind`; this document is something else.",
}
_SCHEMA = {
    "earlier-release": "The release is older than all that jobspec knows, so that its rules are not applied.",
    "later-release": "The target is newer than this jobspec, which applies the webhook rules of the newest release that it knows.",
    "unknown-kind": "jobspec has no schema for this apiVersion and kind, so the document cannot be checked.",
    "unknown-field": "The field does not exist at this place. Without strict validation a server drops it silently.",
    "wrong-type": "The value has the wrong type for the field.",
    "missing-field": "A required field is missing.",
    "out-of-range": "The number is outside of the allowed range.",
    "wrong-size": "The string, list or object is too short or too long.",
    "wrong-format": "The string does not have the required format.",
    "duplicate-item": "Two items of the list have the same key.",
    "unsupported-choice": "The value is not one of the allowed values.",
    "rule-broken": "The value violates a validation rule of its kind (CEL), which the message quotes.",
    "immutable-field": "The field is immutable: an update cannot change it.",
    "wrong-combination": "The value does not match the schema's `anyOf`, `oneOf` or `not`.",
    "rule-not-evaluated": "A CEL validation rule was not evaluated, since it cannot be run here.",
    "invalid-crd": "A server would refuse the CustomResourceDefinition, or its schema is not structural.",
    "conflicting-values": "Two values, each valid by itself, are mutually exclusive or contradict each other.",
    "missing-name": "An object needs `metadata.name` or `metadata.generateName`.",
    "invalid-name": "The name is not valid in Kubernetes.",
    "invalid-metadata": "A label, annotation, owner reference or finalizer in `metadata` is not valid.",
    "refused-value": "The server refuses the value; the message gives the reason in the server's own words.",
}
_RENDER = {
    "encrypted-manifest": "SOPS has encrypted it, and the engine that applies it decrypts nothing: Argo CD without a plugin, Flux without"
    " `decryption`.",
    "unset-variable": "A Kustomization of Flux substitutes `${NAME}` in every text, scripts included, and has no value for this one.",
    "bad-substitution": "Flux cannot read the `${`, or the YAML that it makes, and applies nothing of the Kustomization. `$${` stays `${`.",
    "selects-nothing": "A patch, a replacement or an image of a kustomization selects no object: kustomize goes on and changes nothing.",
    "hashed-name": "kustomize adds a hash to the name of what it generates, and follows it in the kinds of Kubernetes alone.",
    "renamed-reference": "`namePrefix` or `nameSuffix` renames an object, and a job, runtime or queue keeps its old name.",
    "labels-not-on-pods": "Labels for pods do not reach those of a custom resource: kustomize knows the templates of built-in kinds alone.",
    "number-as-text": "helm writes a number of the values, or `appVersion`, into a string in other characters: `1.10` as `1.1`.",
    "image-not-reached": "An image of a kustomization has the name of a job's image, in a field that kustomize does not know as an image.",
    "broken-kustomization": "kustomize cannot build this: a file is missing, or a patch does not apply. Its files are checked alone.",
    "no-workload": "The given files have no training job to apply the overlay to.",
    "invalid-overlay": "The overlay contradicts itself or uses something that it does not declare.",
    "unknown-parameter": "The overlay has no parameter of this name.",
    "missing-parameter": "The overlay needs a value for this parameter.",
    "wrong-parameter": "The value does not match the parameter's type or limits.",
    "overlay-conflict": "Two overlays conflict: they set one field to different values, or are mutually exclusive.",
    "missing-container": "The overlay changes a container that the job does not have.",
    "missing-role": "The overlay is for roles (master, worker) that the job does not have.",
    "not-expressible": "The API of this kind and release has no field for what the overlay sets.",
    "volume-not-shared": "Pods on several nodes mount one volume, which needs `ReadWriteMany`.",
    "shell-command": "The program runs inside a shell's command string, where flags cannot be found or added safely.",
    "list-replaced": "An overlay replaces a whole list of the base, since its items have no merge key.",
    "list-replaced-by-patch": "A merge patch of kustomize replaces a list without merge keys: what it does not repeat is lost.",
    "volume-replaced": "The overlay gives a volume of the base another source, for every container that mounts it.",
    "invalid-project": "The project contradicts itself or uses something that it does not declare.",
    "unknown-release": "The project's target names an operator or a release that jobspec does not know.",
    "unknown-overlay": "The project names an overlay that does not exist.",
    "wrong-base": "The project names a base that does not exist, or that does not have exactly one training job.",
    "duplicate-variant": "Two variants of a project have the same name, and would be the same folder.",
    "fixed-name": "A job with `naming: fixed` changes a field that cannot change in place: refused, without effect, or a restart.",
    "runs-again": "A TTL deletes the finished job, then the GitOps engine (or the trainer) recreates it: it trains again.",
    "run-returned": "The job is an earlier run of its variant, which `history` kept: the same object, so that nothing starts.",
    "import-differs": "A manifest cannot be imported, since its variant would not render to the same objects again.",
    "duplicate-resource": "Two documents are the same object: same kind, namespace and name.",
}
_ADMISSION = {
    "pod-security": "The Pod Security level of the namespace, set by its labels, does not admit the pod.",
    "outside-limit-range": "A LimitRange of the namespace does not admit what the container, pod or claim requests.",
    "over-quota": "A ResourceQuota of the namespace is exceeded, by objects of the kind too, or limits what the pod does not set.",
    "refused-by-class": "The pod contradicts its PriorityClass or RuntimeClass, which sets the value.",
    "refused-by-account": "The ServiceAccount of the pod does not allow it to use the Secret.",
    "refused-by-policy": "An admission policy in CEL refuses the object, or warns of it or records it, as its binding says.",
    "policy-not-evaluated": "Whether an admission policy holds depends on what a server alone knows, such as the user, or Kyverno.",
    "policy-type": "An expression of a ValidatingAdmissionPolicy does not fit the structure of a kind that the policy is for.",
    "unresolved-reference": "What the manifest refers to is not among the given files, so it was not checked.",
    "missing-kind": "The server has no such kind: no CRD defines it there. On a cluster that is not its own, jobspec stores nothing.",
    "missing-namespace": "The server has no such namespace. On a cluster that is not its own, jobspec stores nothing, so create it first.",
    "field-conflict": "Another field manager owns the field of the live object, with another value, so an apply is refused.",
    "refused-by-webhook": "A webhook of the cluster refuses the object; the message gives its own words.",
    "refused-by-server": "The server refuses the whole object, by a quota for example; the message gives the reason in its own words.",
    "server-warning": "The server accepts the object with a warning.",
    "lost-in-apply": "An apply takes away what a webhook or policy added at the creation alone, in a field that cannot change.",
    "recreated-object": "The engine that applies the object deletes and recreates it, or leaves it as it is, in place of an update.",
    "offline-webhooks": "The server has no webhooks of the operator, so jobspec applied their rules itself, for the target's release.",
}
_OUTCOME = {
    "pod-waits": "The pod is accepted and waits forever: a claim, ConfigMap or Secret that it needs does not exist.",
    "refused-by-operator": "The server accepts the job, and its operator creates nothing for it: at most an event says why.",
    "operator-crash": "The server accepts the job, and its operator crashes on it; older releases then stop working for all jobs.",
    "autoscaler-refused": "The server refuses the autoscaler that the operator creates first, so no pod follows. Fix the elastic policy.",
    "jobset-refused": "The server refuses the JobSet of an accepted TrainJob, so nothing runs; at most an event says why.",
    "no-pods-created": "The operator creates no pods for the job as written: it is suspended, or another controller manages it.",
    "kind-not-queued": "Bypasses Kueue, whose configuration does not queue the kind: the job starts at once, whatever the quota.",
    "admission-not-known": "Whether Kueue admits the job depends on an object that is not among the given files.",
    "undercounted-requests": "Kueue counts less than the pods request, by a LimitRange: a queue admits more than its quota.",
    "never-admitted": "Kueue never admits the job, even to an empty cluster: its queue is stopped or closed to it, or no flavor fits.",
    "never-started": "Kueue admits the TrainJob but never starts it: the trainer is older than the patches that Kueue writes.",
    "never-fits": "The pods of the job, or its other objects, are more than a ResourceQuota allows: some are never created.",
    "unschedulable": "No node of the pinned cluster can run a pod of the job: none is as large, or has the labels and tolerated taints.",
    "pods-refused": "The server refuses the pods of an accepted job: none starts, and at most an event says why.",
    "pods-lost": "A policy takes from pods or Jobs the labels that their owner knows them by: it makes others forever, or never ends.",
    "service-refused": "The server refuses a Service by which the pods of an accepted job find each other, so they never connect.",
    "jobset-not-updated": "An update of a TrainJob is accepted, and JobSet refuses it for the JobSet of the job; only an event says so.",
    "job-refused": "The server refuses the batch Job that JobSet creates for an accepted job, so no pod starts; at most an event says why.",
    "ray-cluster-refused": "The server refuses the RayCluster that KubeRay creates for a job, so no pod starts; an event says why.",
    "stateful-set-not-updated": "An update of a LeaderWorkerSet is accepted, and the server refuses the StatefulSet that it becomes.",
    "stateful-set-refused": "The server refuses a StatefulSet that LeaderWorkerSet creates, so its pods never start; an event says why.",
    "claim-refused": "The server refuses the claim that JobSet creates for an accepted job, so the pods wait forever.",
    "no-rendezvous": "torchrun waits at its own address, or for more pods than the job has: each pod exits with 1 after a timeout.",
    "trains-alone": "The pods do not train together: the program gets or reads no rank, or torchrun counts one node.",
    "ranks-missing": "The program waits for more ranks than there are processes, forever.",
    "wrong-process-count": "torchrun exits at once, since the number of nodes, or of processes per node, is not valid.",
    "unknown-address": "The operator gives the pods a rendezvous address that none of them has, so they never connect.",
    "unknown-flag": "The program of a container, or torchrun before it, has no such flag, and exits at once with 2.",
    "wrong-flag-value": "The program of a container, or torchrun before it, does not accept this value of a flag or variable, and exits.",
    "complete-without-training": "The job completes, and nothing was trained.",
    "group-name-taken": "Two groups of a Ray cluster have one name: KubeRay takes pods of one for those of the other.",
    "head-unreachable": "No Service leads to the head of a Ray cluster, or to the port that workers or clients need: they wait forever.",
    "never-submitted": "KubeRay makes the cluster of a RayJob, and its program is never submitted to it.",
    "restarts-forever": "A job that fails restarts forever, since its restart count starts again from zero.",
}
_CAPTURE = {
    "captured-change": "A client library posts the job in another form than the program gave it; the manifest says what is meant.",
}
_MIGRATION = {
    "not-migrated": "The job cannot be migrated to this release, for the reason that the message gives; it is left unchanged.",
    "migration-loss": "A setting of the job has no counterpart, so its pods or its life cycle change.",
    "migration-change": "The migrated job behaves differently where the two kinds differ, though no setting is lost.",
    "migration-note": "A value changes, and nothing that the job runs reads it.",
    "pods-change": "After the upgrade the operator creates other pods for the job, or handles its failures and its end differently.",
    "recreated-first": "A job that is suspended during the upgrade never starts afterwards: what its operator made cannot be changed.",
    "refused-before": "The manifest has an error before the upgrade already, so that its pods cannot be compared.",
    "release-pair": "Two components do not work together in these releases, whatever the manifests say.",
    "release-step": "The upgrade needs another release in between, or something that its release notes ask for.",
}
_CHOICE = {
    "renamed-rule": "A comment ignores a rule by its former name. It still works; write the new name.",
    "unused-ignore": "A comment `# jobspec: ignore[rule]` ignores nothing: the rule is not broken there, or there is no such rule.",
    "stale-baseline": "The baseline has an entry for a finding that is gone. Write the baseline again, or it hides the next one.",
}
#: Renamed rules: old -> new. Old names still work wherever rules are named.
RENAMED = {
    "annotation-of-pods": "ineffective-annotation",
    "deadline-at-once": "zero-deadline",
    "image-for-cpus": "cpu-image-with-gpus",
    "image-of-launcher": "launcher-only-image",
    "label-of-pods": "ineffective-label",
    "nothing-made": "no-pods-created",
    "old-kueue-api": "deprecated-kueue-api",
    "over-queue-quota": "never-admitted",
    "processes-of-the-host": "process-per-host-cpu",
    "queue-of-nothing": "unknown-cluster-queue",
    "restarts-for-ever": "restarts-forever",
    "running-leftovers": "leftover-pods",
    "shared-host-port": "host-port-conflict",
    "useless-rank": "hardcoded-rank",
}
RULES = {**_DECODING, **_SCHEMA, **_RENDER, **_ADMISSION, **_OUTCOME, **_CAPTURE, **_MIGRATION, **_CHOICE}
#: Rules whose cause is not in the file that is reported: an object or a kind that is missing, or a policy of the cluster.
CAUSED_ELSEWHERE = frozenset(
    {
        "missing-kind",
        "missing-namespace",
        "refused-by-policy",
        "unknown-cluster-queue",
        "unknown-flavor",
        "unknown-kind",
        "unknown-queue",
        "unknown-service-account",
        "unknown-source",
        "unresolved-reference",
    }
)
#: The rules about unreadable text, which cannot be ignored.
DECODING = frozenset(_DECODING)
STAGES: dict[str, Stage] = {
    **dict.fromkeys(_DECODING, "decoding"),
    **dict.fromkeys(_SCHEMA, "schema"),
    **dict.fromkeys(_RENDER, "render"),
    **dict.fromkeys(_OUTCOME, "outcome"),
    **dict.fromkeys(_CAPTURE, "lint"),
    **dict.fromkeys(_MIGRATION, "migration"),
    **dict.fromkeys(_CHOICE, "lint"),
}
