"""The outcome of an accepted job. Most are ordinary, which the job alone shows; all others are expanded and judged as a whole.

A server accepts every object that an operator makes of an ordinary job, and the programs of its pods find each other. To expand a job and
to judge its objects takes three times as long; a property test holds what is said here to that judgement (`judgement.judged`).
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, has_error
from jobspec.kinds import PYTORCHJOB, TRAINJOB, UNKNOWN
from jobspec.kubernetes.metadata import bad_label_name, bad_label_value, bad_qualified_name, bad_subdomain
from jobspec.operators.training_operator import PORT, PORT_NUMBER, WAITING_CONTAINER
from jobspec.operators.training_operator.webhook import has_webhook
from jobspec.programs import command_lines
from jobspec.programs.command_lines import CommandWord
from jobspec.targets import RELEASES, Target
from jobspec.workloads import CONTAINERS, NODE, QUEUE, resumed, suspension, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from jobspec.cluster import Cluster
    from jobspec.documents.document import Document
    from jobspec.kubernetes.admission.objects import PolicyObjects

    Pod = dict[str, Any]
    Check = Callable[[Any], bool]


class Foresight:
    """What is foreseen of a job."""

    __slots__ = ("diagnostics", "runs")

    def __init__(self, diagnostics: Sequence[Diagnostic], *, runs: bool | None) -> None:
        self.diagnostics = diagnostics
        self.runs = runs
        """Whether the job will run and train; None where that is not known."""


def foresee(job: Document, context: Sequence[Document], cluster: Cluster, policies: PolicyObjects | None = None) -> Foresight | None:
    """The outcome of an accepted job, of a suspended one after it is resumed; None where its runtime is not at hand.

    *context*: the documents that it may refer to; *policies*: the objects that decide on pods.
    """
    runtime = None
    if job.group_kind == TRAINJOB:
        from jobspec.operators.trainer.runtimes import runtime_of

        runtime = runtime_of(job, context, cluster.target)
        if runtime is None:
            return None
    resumed_job = resumed(job)
    concerned = cluster.complete is not UNKNOWN or cluster.contracts or (policies is not None and policies.apply_to(job.namespace))
    accepted = has_ordinary_objects(resumed_job, runtime, cluster.target)
    found: list[Diagnostic] | None = []
    if not accepted or concerned or not has_ordinary_programs(resumed_job, runtime):
        from jobspec.outcome.judgement import judged

        found = judged(resumed_job, context, cluster, policies, skip_server_checks=accepted)
    if found is None:
        return Foresight((), runs=None)
    in_queue = bool(value_at(job.data, ("metadata", "labels", QUEUE)))
    if policies is not None and policies.have_queues and in_queue:
        from jobspec.outcome.programs import never_admitted

        found += map(job.diagnostic, never_admitted(job, context, cluster, policies))
    is_queued = in_queue and job.group_kind == TRAINJOB  # Kueue resumes it when it admits it; PyTorchJobs it does not queue by default
    rules = {each.rule for each in found}
    if "no-pods-created" not in rules and (not is_queued or "kind-not-queued" in rules):
        found += suspension(job)
    return Foresight(found, runs=_runs(found))


def _runs(found: Sequence[Diagnostic]) -> bool | None:
    """Whether a job with these diagnostics runs; None where that is not certain."""
    if has_error(found):
        return False
    return None if any(each.severity == "warning" or each.rule == "no-pods-created" for each in found) else True


def has_ordinary_objects(job: Document, runtime: Document | None, target: Target) -> bool:
    """Whether a look at an accepted job and its runtime shows that a server accepts all its objects."""
    if runtime is None:
        return has_ordinary_pytorchjob_objects(job.data, target)
    is_own_jobset = target["jobset"] == RELEASES["trainer"][target["trainer"]]["jobset"]  # another one may not know what the trainer sends
    return is_own_jobset and has_ordinary_trainjob_objects(job.data, runtime.data)


def has_ordinary_programs(job: Document, runtime: Document | None) -> bool:
    """Whether a look at a job with ordinary objects shows that its programs find each other."""
    return has_ordinary_pytorchjob_programs(job.data) if runtime is None else has_ordinary_trainjob_programs(job.data, runtime.data)


# Checks of values, and how those of an object or a list are made of them.


_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")


def of_type(kind: type) -> Check:
    """A value of exactly this Python type."""
    return lambda value: type(value) is kind


def between(least: int, most: int) -> Check:
    """A whole number within these limits."""
    return lambda value: type(value) is int and least <= value <= most


def one_of(*choices: str) -> Check:
    """One of some texts."""
    return lambda value: value in choices


def is_word(value: Any) -> bool:
    """A short text of letters, digits, dashes, dots and underscores, which begins with a letter or digit."""
    return type(value) is str and 0 < len(value) < 64 and value[0].isalnum() and _WORD.issuperset(value)


def formed(bad_form: Callable[[str], str]) -> Check:
    """A string of a form; *bad_form* says why a string does not have it."""
    return lambda value: type(value) is str and not bad_form(value)


is_name, is_label_name = formed(bad_subdomain), formed(bad_label_name)
is_key, is_label_value = formed(bad_qualified_name), formed(bad_label_value)


def are_labels(value: Any) -> bool:
    """A mapping of keys to values of labels."""
    return type(value) is dict and all(map(is_key, value)) and all(map(is_label_value, value.values()))


def _is_image(value: Any) -> bool:
    return type(value) is str and bool(value) and value.isprintable() and value == value.strip()


def _is_path(value: Any) -> bool:
    return type(value) is str and bool(value) and ".." not in value and ":" not in value


def _is_absolute(value: Any) -> bool:
    return _is_path(value) and value[0] == "/"


def _is_relative(value: Any) -> bool:
    return _is_path(value) and value[0] != "/"


def _is_variable(value: Any) -> bool:
    return type(value) is str and value.isascii() and value.isidentifier()


_LONGEST_PORT = 15


def _is_port_name(value: Any) -> bool:
    return is_label_name(value) and len(value) <= _LONGEST_PORT and "--" not in value and not value[:1].isdigit()


def has_short_name(data: dict[str, Any], longest: int) -> bool:
    """Whether the name of a job is so short that those of all objects that operators make of it are."""
    name = data["metadata"].get("name")
    return is_label_name(name) and not name[0].isdigit() and len(name) <= longest


def list_of(check: Check) -> Check:
    """A list, perhaps empty, whose items all pass."""
    return lambda value: type(value) is list and all(map(check, value))


def some_of(check: Check) -> Check:
    """A list that is not empty, whose items all pass."""
    return lambda value: type(value) is list and bool(value) and all(map(check, value))


def object_of(known: Mapping[str, Check], *needed: str) -> Check:
    """An object with no other fields than the *known* ones, which all pass, and with all that are *needed*."""

    def passes(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, each in value.items():
            check = known.get(name)
            if check is None or not check(each):
                return False
        return all(name in value for name in needed)

    return passes


def one_item(check: Check) -> Check:
    """A list of one item, which passes."""
    return lambda value: type(value) is list and len(value) == 1 and check(value[0])


def _nested(check: Check, *steps: str) -> Check:
    """Nested objects of one field each, named by *steps*; the innermost value passes."""
    for step in reversed(steps):
        check = object_of({step: check}, step)
    return check


# Amounts of what containers ask for.


_SHARED = ("cpu", "memory", "ephemeral-storage")
"""Of these a limit can be greater than its request."""
_WHOLE = ("nvidia.com/gpu", "amd.com/gpu", "rdma/hca", "rdma/rdma_shared_device_a", "vpc.amazonaws.com/efa")
"""Well-known resources of others, of which there are whole numbers, and of which a request is the limit."""
_UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_LONGEST = 9


def is_ordinary_amounts(value: Any) -> bool:
    """Limits and requests in whole units, each request at most its limit."""
    if type(value) is not dict or not value.keys() <= {"limits", "requests"}:
        return False
    limits, requests = _ordinary_amounts(value.get("limits", {})), _ordinary_amounts(value.get("requests", {}))
    return limits is not None and requests is not None and all(_allows(name, wanted, limits.get(name)) for name, wanted in requests.items())


def _ordinary_amounts(given: Any) -> dict[str, int] | None:
    """The amounts in thousandths; None where one of them is not ordinary."""
    if type(given) is not dict:
        return None
    found = {name: thousandths for name, amount in given.items() if (thousandths := _ordinary_amount(name, amount)) is not None}
    return found if len(found) == len(given) else None


def _ordinary_amount(name: Any, amount: Any) -> int | None:
    """An amount of a well-known resource in thousandths; None where it is not an ordinary one."""
    if name in _SHARED:
        return None if name != "cpu" and str(amount).endswith("m") else _thousandths(amount)
    return _thousandths(amount) if name in _WHOLE and str(amount).isdecimal() else None


def _thousandths(amount: Any) -> int | None:
    """An amount in thousandths of a whole; None where it is not written in an ordinary way."""
    text = str(amount) if type(amount) is int else amount
    if type(text) is not str or not text.isascii():
        return None
    unit = "" if text.isdecimal() else next((each for each in (*_UNITS, "m") if text.endswith(each)), "")
    number = text.removesuffix(unit)
    if not number.isdecimal() or len(number) > _LONGEST:
        return None
    return int(number) * (1 if unit == "m" else 1000 * _UNITS.get(unit, 1))


def _allows(name: str, wanted: int, most: int | None) -> bool:
    """Whether a request is surely allowed beside its limit."""
    if name in _SHARED:
        return most is None or wanted <= most
    return wanted == most


# Pod templates.


_OF_OPERATORS = ("kubeflow.org", "batch.kubernetes.io", "jobset.sigs.k8s.io", "controller-uid", "job-name")
"""How labels and annotations end, before their last `/`, that operators set or read."""
_READ_BY_SERVERS = ("kubernetes.io", "k8s.io")
_MOST_ANNOTATIONS = 50_000
"""Characters, of which a server takes 262,144 bytes."""


def _are_own_labels(value: Any) -> bool:
    return are_labels(value) and not any(key.rpartition("/")[0].endswith(_OF_OPERATORS) or key in _OF_OPERATORS for key in value)


def _are_own_annotations(value: Any) -> bool:
    if type(value) is not dict or sum(len(str(key)) + len(str(text)) for key, text in value.items()) > _MOST_ANNOTATIONS:
        return False
    return all(
        is_key(key) and type(text) is str and not key.rpartition("/")[0].endswith((*_READ_BY_SERVERS, *_OF_OPERATORS))
        for key, text in value.items()
    )


is_ordinary_metadata = object_of({"labels": _are_own_labels, "annotations": _are_own_annotations, "creationTimestamp": of_type(type(None))})
"""Whether metadata has labels and annotations alone, none of which operators or servers read."""
is_text, is_flag = of_type(str), of_type(bool)
is_number, is_port = between(0, 2**31 - 1), between(1, 65535)
_REFERENCE = object_of({"name": is_name}, "name")
_REFERENCE_WITH_KEY = object_of({"name": is_name, "key": is_word, "optional": is_flag}, "name", "key")
_SOURCE = object_of({"configMapKeyRef": _REFERENCE_WITH_KEY, "secretKeyRef": _REFERENCE_WITH_KEY})
_VARIABLE = object_of({"name": _is_variable, "value": is_text}, "name")
_VARIABLE_FROM = object_of({"name": _is_variable, "valueFrom": lambda value: _SOURCE(value) and len(value) == 1}, "name", "valueFrom")
_WHOLE_SOURCE = object_of({"configMapRef": _REFERENCE, "secretRef": _REFERENCE})
_PORT = object_of({"name": _is_port_name, "containerPort": is_port, "protocol": one_of("TCP")}, "name", "containerPort")
_MOUNT = object_of({"name": is_label_name, "mountPath": _is_absolute, "readOnly": is_flag, "subPath": _is_relative}, "name", "mountPath")
_TEXTS = list_of(is_text)
_USERS = {"runAsUser": is_number, "runAsGroup": is_number, "runAsNonRoot": is_flag}
_OF_ANY_CONTAINER = {
    "name": is_label_name,
    "image": _is_image,
    "imagePullPolicy": one_of("Always", "IfNotPresent", "Never"),
    **dict.fromkeys(("command", "args"), _TEXTS),
    "workingDir": is_text,
    "env": list_of(lambda value: _VARIABLE(value) or _VARIABLE_FROM(value)),
    "envFrom": list_of(lambda value: _WHOLE_SOURCE(value) and len(value) == 1),
    "ports": list_of(_PORT),
    "resources": is_ordinary_amounts,
    "volumeMounts": list_of(_MOUNT),
    "securityContext": object_of({**_USERS, "privileged": is_flag, "capabilities": object_of({"add": _TEXTS, "drop": _TEXTS})}),
    **dict.fromkeys(("stdin", "tty"), is_flag),
}
_EXEC = object_of({"exec": object_of({"command": some_of(is_text)}, "command")}, "exec")
_CONTAINER = object_of({**_OF_ANY_CONTAINER, "lifecycle": object_of({"postStart": _EXEC, "preStop": _EXEC})}, "name", "image")
_INIT_CONTAINER = object_of(_OF_ANY_CONTAINER, "name", "image")
_FILES = list_of(object_of({"key": is_word, "path": is_word}, "key", "path"))
_VOLUME = object_of(
    {
        "name": is_label_name,
        "emptyDir": object_of({"medium": one_of("", "Memory"), "sizeLimit": lambda amount: _ordinary_amount("memory", amount) is not None}),
        "persistentVolumeClaim": object_of({"claimName": is_name, "readOnly": is_flag}, "claimName"),
        "configMap": object_of({"name": is_name, "optional": is_flag, "items": _FILES}, "name"),
        "secret": object_of({"secretName": is_name, "optional": is_flag, "items": _FILES}, "secretName"),
        "hostPath": object_of({"path": _is_absolute, "type": one_of("", "Directory", "DirectoryOrCreate", "File", "FileOrCreate")}, "path"),
        "nfs": object_of({"server": is_name, "path": _is_absolute, "readOnly": is_flag}, "server", "path"),
    },
    "name",
)
_EFFECT = one_of("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATION = object_of({"key": is_key, "operator": one_of("Exists", "Equal"), "value": is_label_value, "effect": _EFFECT})


def _is_toleration(value: Any) -> bool:
    if not _TOLERATION(value):
        return False
    return not value.get("value") if value.get("operator") == "Exists" else "key" in value


_OPERATOR = one_of("In", "NotIn", "Exists", "DoesNotExist")
_REQUIREMENT = object_of({"key": is_key, "operator": _OPERATOR, "values": some_of(is_label_value)}, "key", "operator")


def _is_requirement(value: Any) -> bool:
    return _REQUIREMENT(value) and ("values" in value) == (value["operator"] in ("In", "NotIn"))


_NODE_TERM = object_of({"matchExpressions": some_of(_is_requirement)}, "matchExpressions")
_NODE_AFFINITY = _nested(some_of(_NODE_TERM), "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_SELECTOR = object_of({"matchLabels": are_labels, "matchExpressions": some_of(_is_requirement)})
_TERM = object_of({"labelSelector": _SELECTOR, "topologyKey": is_key}, "topologyKey")
_PREFERRED_TERM = object_of({"weight": between(1, 100), "podAffinityTerm": _TERM}, "weight", "podAffinityTerm")
_POD_AFFINITY = object_of(
    {
        "requiredDuringSchedulingIgnoredDuringExecution": list_of(_TERM),
        "preferredDuringSchedulingIgnoredDuringExecution": list_of(_PREFERRED_TERM),
    }
)
_POD = object_of(
    {
        "containers": some_of(_CONTAINER),
        "initContainers": list_of(_INIT_CONTAINER),
        "volumes": list_of(lambda value: _VOLUME(value) and len(value) <= 2),
        "nodeSelector": are_labels,
        "tolerations": list_of(_is_toleration),
        "affinity": object_of({"nodeAffinity": _NODE_AFFINITY, "podAffinity": _POD_AFFINITY, "podAntiAffinity": _POD_AFFINITY}),
        "restartPolicy": one_of("Never", "OnFailure", "Always"),
        **dict.fromkeys(("serviceAccountName", "schedulerName"), is_name),
        "imagePullSecrets": list_of(object_of({"name": is_text})),
        **dict.fromkeys(("automountServiceAccountToken", "enableServiceLinks", "hostIPC", "hostPID", "hostNetwork"), is_flag),
        "dnsPolicy": one_of("ClusterFirst", "Default", "ClusterFirstWithHostNet"),
        "terminationGracePeriodSeconds": is_number,
        "securityContext": object_of({**_USERS, "fsGroup": is_number}),
    },
    "containers",
)
_TEMPLATE = object_of({"metadata": is_ordinary_metadata, "spec": _POD}, "spec")


def is_ordinary_template(template: Any) -> bool:
    """Whether the pods of a template will be accepted, whatever names and variables an operator adds."""
    return _TEMPLATE(template) and _fits_together(template["spec"])


def _fits_together(spec: Pod) -> bool:
    """Whether names are unique, containers mount what is there, and one alone is on the network of the host."""
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    volumes = [each["name"] for each in spec.get("volumes", ())]
    return (
        _are_different(each["name"] for each in containers)
        and _are_different(volumes)
        and all(_mounts_and_ports_fit(container, volumes) for container in containers)
        and (len(containers) == 1 or not spec.get("hostNetwork"))
    )


def _mounts_and_ports_fit(container: Pod, volumes: list[str]) -> bool:
    mounts, ports = container.get("volumeMounts", ()), container.get("ports", ())
    unique = [(mounts, "mountPath"), (ports, "name"), (ports, "containerPort")]
    return all(each["name"] in volumes for each in mounts) and all(_are_different(each[name] for each in items) for items, name in unique)


def _are_different(values: Iterable[Any]) -> bool:
    given = list(values)
    return len({*given}) == len(given)


def containers_of(template: Any) -> dict[str, Any]:
    """The containers of an ordinary template, by name; no init containers."""
    return {each["name"]: each for each in template["spec"]["containers"]}


def has_room_for_port(container: Any, name: str, number: int) -> bool:
    """Whether a Service can have the port *number* beside those of an ordinary container, or one of them has the *name*."""
    ports = container.get("ports", ())
    return any(each["name"] == name for each in ports) or all(each["containerPort"] != number for each in ports)


# Programs: those that find each other, and as many as they wait for, by the variables that the operators set.


_ONE = ("", "1", "1:1")
_ENDING = ("--standalone", "--help")
"""Switches with which a pod trains alone, or not at all."""
_is_process_number = between(1, 999)


def is_process_count(value: Any) -> bool:
    """Whether torchrun takes a value as the number of processes in each pod."""
    return value in command_lines.PROCESS_WORDS or _is_process_number(value) or (type(value) is str and is_count(value))


def is_count(text: str) -> bool:
    """Whether a text is a number of processes."""
    return text.isascii() and text.isdecimal() and not text.startswith("0") and len(text) < 4


def words_of(container: dict[str, Any]) -> list[str]:
    """The words of an ordinary container's `command` and `args`; none where the image's own program runs."""
    return [*container.get("command", ()), *container.get("args", ())]


def torchrun_words(words: Sequence[str]) -> Sequence[str] | None:
    """The words behind torchrun; None where a container does not start it itself."""
    start = command_lines.length_of_start(words)
    return words[start:] if start else None


def sets_no_ranks(container: dict[str, Any]) -> bool:
    """Whether a container sets no variable by which programs find each other."""
    return not any(str(each["name"]).startswith(command_lines.BEGINNINGS_OF_RANKS) for each in container.get("env", ()))


def launches_every_node(words: Sequence[str]) -> bool:
    """Whether torchrun takes the options before its script, and none of them makes it a launcher of one pod alone.

    *words*: those behind torchrun. An option that is shortened, or that takes neither a text nor a whole number, makes the answer no.
    """
    return all(_is_harmless(each) for each in command_lines.options_of(words))


def _is_harmless(word: CommandWord) -> bool:
    takes = command_lines.OPTIONS.get(word.name.replace("_", "-") if word.name != "-m" else "--module", {}).get("type")
    if takes == "boolean":
        return not word.is_joined and word.option not in _ENDING
    if takes not in ("string", "integer") or word.value is None or (word.option == "--nnodes" and word.value in _ONE):
        return False
    return takes == "string" or is_count(word.value) or "$(" in word.value


# PyTorchJobs.


_LONGEST_PYTORCHJOB_NAME = 40
is_count_of_pods = between(1, 9999)
"""So short that it may stand in a name."""
_POLICY = one_of("Always", "OnFailure", "Never", "ExitCode")
_ROLE = object_of({"replicas": is_count_of_pods, "restartPolicy": _POLICY, "template": is_ordinary_template}, "template")
_ROLES = object_of({"Master": _ROLE, "Worker": _ROLE})
_TARGET = object_of({"type": one_of("Utilization"), "averageUtilization": between(1, 2**31 - 1)}, "type", "averageUtilization")
_RESOURCE = object_of({"name": one_of("cpu", "memory"), "target": _TARGET}, "name", "target")
_METRIC = object_of({"type": one_of("Resource"), "resource": _RESOURCE}, "type", "resource")
"""What an autoscaler goes by."""
_ELASTIC = object_of(
    {
        "rdzvBackend": one_of("c10d", "etcd", "etcd-v2"),
        "rdzvHost": is_name,
        "rdzvPort": is_port,
        "rdzvId": is_text,
        "maxRestarts": is_number,
        **dict.fromkeys(("minReplicas", "maxReplicas"), is_count_of_pods),
        "metrics": some_of(_METRIC),
    },
    *("minReplicas", "maxReplicas"),
)
_SECONDS_AND_RETRIES = dict.fromkeys(("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"), is_number)
_SPEC = object_of(
    {
        "pytorchReplicaSpecs": lambda value: _ROLES(value) and bool(value),
        "nprocPerNode": is_process_count,
        "elasticPolicy": _ELASTIC,
        "runPolicy": object_of({"cleanPodPolicy": one_of("All", "Running", "None"), **_SECONDS_AND_RETRIES}),
    },
    "pytorchReplicaSpecs",
)


def has_ordinary_pytorchjob_objects(data: dict[str, Any], target: Target) -> bool:
    """Whether a server accepts all objects of an accepted PyTorchJob. *data*: the job's."""
    if not has_webhook(target["training-operator"]) or not has_short_name(data, _LONGEST_PYTORCHJOB_NAME) or not _SPEC(data.get("spec")):
        return False
    policy, roles = data["spec"].get("elasticPolicy"), _roles(data)
    is_fixed = policy is None or (list(roles) == ["Worker"] and policy["minReplicas"] <= policy["maxReplicas"])
    return is_fixed and all(map(_is_ordinary_role, roles.values()))


def _is_ordinary_role(role: dict[str, Any]) -> bool:
    template = role["template"]
    training = containers_of(template).get(CONTAINERS[PYTORCHJOB])
    names = [each["name"] for each in template["spec"].get("initContainers", ())]
    return (
        training is not None
        and WAITING_CONTAINER not in (*names, *containers_of(template))
        and has_room_for_port(training, PORT, PORT_NUMBER)
    )


def has_ordinary_pytorchjob_programs(data: dict[str, Any]) -> bool:
    """Whether the programs of a PyTorchJob with ordinary objects find each other."""
    return all(_has_rendezvous(containers_of(each["template"])[CONTAINERS[PYTORCHJOB]], data["spec"]) for each in _roles(data).values())


def _roles(data: dict[str, Any]) -> dict[str, Any]:
    roles: dict[str, Any] = data["spec"]["pytorchReplicaSpecs"]
    return roles


def _has_rendezvous(container: dict[str, Any], spec: dict[str, Any]) -> bool:
    """Whether a program of a job of this *spec* meets those of the other pods, where it looks for them by itself."""
    words = words_of(container)
    options = torchrun_words(words)
    if options is None and not command_lines.starts_python(words):
        return True
    roles = spec["pytorchReplicaSpecs"]
    has_master = "Master" in roles
    if not has_master and not sets_no_ranks(container):  # where there is a Master, the operator's variables come behind these
        return False
    if options is not None:
        meet = has_master or "elasticPolicy" in spec or sum(each.get("replicas", 1) for each in roles.values()) == 1
        return meet and launches_every_node(options)
    processes = str(spec.get("nprocPerNode", "auto"))
    return has_master and (not processes.isdecimal() or processes == "1")


# TrainJobs of runtimes that train with torchrun in one replicated job.


_LONGEST_TRAINJOB_NAME = 30
_POLICIES = ("Never", "OnFailure")


def is_anything(_: Any) -> bool:
    """Any value at all."""
    return True


_OF_CONTAINER = ("image", "command", "args", "env", "resourcesPerNode")
_PATCHED_POD = object_of(
    {
        **dict.fromkeys(("serviceAccountName", "nodeSelector", "tolerations", "affinity", "volumes", "imagePullSecrets"), is_anything),
        "containers": list_of(object_of({"name": is_text, "volumeMounts": is_anything}, "name", "volumeMounts")),
    }
)
_PATCHED_JOB = object_of({"name": one_of(NODE), "template": _nested(_PATCHED_POD, "spec", "template", "spec")}, "name", "template")
_PATCHED_JOBSET = object_of({"metadata": is_ordinary_metadata, "spec": _nested(one_item(_PATCHED_JOB), "replicatedJobs")}, "spec")
_PATCH = object_of({"manager": is_text, "trainingRuntimeSpec": _nested(_PATCHED_JOBSET, "template")}, "trainingRuntimeSpec")
_COUNTS = {"numNodes": is_count_of_pods, "numProcPerNode": is_process_count}
_JOB = object_of(
    {
        "runtimeRef": is_anything,
        "activeDeadlineSeconds": is_number,
        "labels": are_labels,
        "runtimePatches": lambda value: type(value) is list and len(value) < 2 and all(map(_PATCH, value)),
        "trainer": object_of({**dict.fromkeys(_OF_CONTAINER, is_anything), **_COUNTS}),  # looked at in the runtime's container
    },
    "runtimeRef",
)


def _trains(value: Any) -> bool:
    from jobspec.operators.trainer.runtimes import ANCESTOR, TRAINER

    return type(value) is dict and value == {ANCESTOR: TRAINER}


_BATCH_JOB = object_of({"metadata": _nested(_trains, "labels"), "spec": _nested(is_ordinary_template, "template")}, "metadata", "spec")
_REPLICATED = object_of({"name": one_of(NODE), "template": _BATCH_JOB}, "name", "template")
_TORCH = object_of({"numNodes": is_count_of_pods, "torch": object_of({"numProcPerNode": is_process_count})}, "torch")
_RUNTIME = object_of({"mlPolicy": _TORCH, "template": _nested(one_item(_REPLICATED), "spec", "replicatedJobs")}, "mlPolicy", "template")


def has_ordinary_trainjob_objects(data: dict[str, Any], runtime: dict[str, Any]) -> bool:
    """Whether a server accepts all objects of an accepted TrainJob of a runtime. Both are *data*."""
    if not has_short_name(data, _LONGEST_TRAINJOB_NAME) or not _JOB(data.get("spec")) or not _RUNTIME(runtime.get("spec")):
        return False
    template = _template(runtime)
    container = containers_of(template).get(NODE)
    if container is None or template["spec"].get("restartPolicy", "Never") not in _POLICIES:
        return False
    trainer = data["spec"].get("trainer", {})
    if container.get("resources") and "resourcesPerNode" in trainer:  # which the trainer merges
        return False
    others = [each for each in template["spec"]["containers"] if each["name"] != NODE]
    spec = _with_patches({**template["spec"], "containers": [{**container, **_container_of_trainer(trainer)}, *others]}, data["spec"])
    return spec is not None and is_ordinary_template({"spec": spec})


def has_ordinary_trainjob_programs(data: dict[str, Any], runtime: dict[str, Any]) -> bool:
    """Whether the programs of a TrainJob with ordinary objects find each other, and its own variables set no ranks."""
    trainer = data["spec"].get("trainer", {})
    training = {**containers_of(_template(runtime))[NODE], **_container_of_trainer(trainer)}
    nodes = trainer.get("numNodes") or runtime["spec"]["mlPolicy"].get("numNodes") or 1
    return sets_no_ranks(training) and "trainer" in data["spec"] and _nodes_meet(words_of(training), nodes)


def _with_patches(pod: dict[str, Any], job: dict[str, Any]) -> dict[str, Any] | None:
    """The spec of a pod with the additions of a job's patch; None where the patch changes what is there already."""
    patched = dict(pod)
    for patch in job.get("runtimePatches", ()):
        added = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
        mounts = {each["name"]: each["volumeMounts"] for each in added.get("containers", ())}
        containers = [{**each, "volumeMounts": mounts[each["name"]]} if each["name"] in mounts else each for each in pod["containers"]]
        taken = [each["name"] for each in pod["containers"] if "volumeMounts" in each]
        if added.keys() & pod.keys() - {"containers"} or not mounts.keys() <= set(containers_of({"spec": pod})) - set(taken):
            return None
        patched = {**pod, **added, "containers": containers}
    return patched


def _template(runtime: dict[str, Any]) -> dict[str, Any]:
    """The pod template of an ordinary runtime."""
    template: dict[str, Any] = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


def _container_of_trainer(trainer: dict[str, Any]) -> dict[str, Any]:
    """The training container as `spec.trainer` sets it."""
    said: dict[str, Any] = {name: trainer[name] for name in ("image", "command", "args", "env") if name in trainer}
    return {**said, "resources": trainer["resourcesPerNode"]} if "resourcesPerNode" in trainer else said


def _nodes_meet(words: list[str], nodes: int) -> bool:
    """Whether the program meets those of the other pods by the variables of torchrun."""
    if not words or words[0] == "tune":
        return False
    options = torchrun_words(words)
    return launches_every_node(options) if options is not None else nodes == 1 or not command_lines.starts_python(words)
