"""Secrets in manifests, and privileges that training does not need."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import CONFIG_MAP, SERVICE_ACCOUNT
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.kubernetes.problems import closest, listed
from jobspec.lint.container import LintedContainer, volumes_of, written
from jobspec.lint.linted import LintedJob
from jobspec.operators.config_map_variables import keys_of_config_maps, whole_config_maps
from jobspec.programs.command_lines import file_name

SECRET_ENDINGS = ("_TOKEN", "_PASSWORD", "_SECRET", "_API_KEY", "_SECRET_KEY", "_ACCESS_KEY", "_PRIVATE_KEY")
SECRETS = ("TOKEN", "PASSWORD", "SECRET", "API_KEY", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY")
SHORTEST = 8
#: The whole form of tokens.
TOKEN_FORMS = r"hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|glpat-[\w-]{20,}|AKIA[0-9A-Z]{16}"  # noqa: S105 (a pattern)
#: How tokens of Hugging Face, GitHub, GitLab and AWS begin.
_TOKENS = ("hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "AKIA")
_PLACEHOLDERS = "<${`"
#: The variables that say where a program writes its caches.
_HOMES = frozenset(("HOME", "HF_HOME", "XDG_CACHE_HOME"))
#: The variables that Python's `getpass.getuser` looks at before /etc/passwd, and the one without which torch's compiler asks for the user.
_NAMES = frozenset(("LOGNAME", "USER", "LNAME", "USERNAME", "TORCHINDUCTOR_CACHE_DIR"))
#: Words of command lines, variables and mounts that give a user an entry in /etc/passwd, or replace it.
_ENTRIES = ("useradd", "adduser", "/etc/passwd", "nss_wrapper", "NSS_WRAPPER_PASSWD")
#: Gated repositories of Hugging Face: those of meta-llama, and Gemma before its fourth generation. A number with `b` is a size.
_GATED = r"hf://(?:meta-llama/|google/\w*gemma(?!-[4-9](?!b)))"
#: The programs that download from the hub.
_PROGRAMS_OF_HUB = ("hf", "huggingface-cli")
#: The variables that give a token, or name another server.
_TOKENS_OF_HUB = ("HF_TOKEN", "ACCESS_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT")


def secret_in_manifest(job: LintedJob) -> Iterator[Finding]:
    """Plaintext secret in the manifest: a variable with a secret's name, or a token.

    Why: everybody who may read the repository, the job or its pods has it, and Git keeps it forever. It does not matter whether `env`,
    a command or a ConfigMap sets the variable.
    Instead: put it into a Secret, and take it from there. Make the old one invalid.
    Before: env: [{name: HF_TOKEN, value: hf_abcdefghijkl}]
    After: env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hugging-face, key: token}}}]
    Evidence: https://kubernetes.io/docs/concepts/security/secrets-good-practices/
    """
    for container in job.containers:
        for name, each in container.variables:
            value = each.get("value")
            is_secret = _is_secret(name, text(value)) or _is_token(text(value))
            if is_secret and value and value.mark.line:
                yield Finding(
                    value, f"plaintext secret: the value of `{name}` is in the manifest", "use a Secret: `valueFrom.secretKeyRef`"
                )
        data_of = job.data_of_config_map
        for name, value, place in (*whole_config_maps(container.tree, data_of), *keys_of_config_maps(container.tree, data_of)):
            if _is_secret(name, text(value)) or _is_token(text(value)):
                yield Finding(written(value, place), f"plaintext secret: a ConfigMap has the value of `{name}`", "use a Secret")
        for word, place in container.words:
            if _is_token(word.rpartition("=")[2]):
                yield Finding(place, "plaintext secret: a token is in the manifest", "use a variable from a Secret")
        for name, said, place in container.assignments:
            if _is_secret(name, said) and not _is_token(said):
                yield Finding(place, f"plaintext secret: the command sets `{name}`", "use a variable from a Secret")


def privileged_container(job: LintedJob) -> Iterator[Finding]:
    """A container is privileged.

    Why: it is root on the node, with all of its devices: any GPU, whoever asked for it, too. Training needs none of it; RDMA needs the
    capability IPC_LOCK alone. Namespaces of the Pod Security levels baseline and restricted refuse such pods. DaemonSets,
    which serve nodes, may need it.
    Instead: leave it out, or add the capability.
    Before: securityContext: {privileged: true}
    After: securityContext: {capabilities: {add: [IPC_LOCK]}}
    Evidence: https://kubernetes.io/docs/concepts/security/pod-security-standards/
    """
    for container in job.containers if not job.serves_nodes else ():
        said = container.tree.get("securityContext", "privileged")
        if said and said.value is True:
            hint = "add the capability that is needed instead"
            hint += ", IPC_LOCK for RDMA" if job.trains_or_has_devices else ", unless it changes the node itself"
            yield Finding(said, "privileged container: it is root on its node", hint)


def host_namespaces(job: LintedJob) -> Iterator[Finding]:
    """A pod shares the processes or the shared memory of its node.

    Why: it sees, and can end, what runs on the node beside it. `hostIPC` is often written for a larger /dev/shm, which a memory volume
    gives without it.
    Instead: leave it out; mount an `emptyDir` of `medium: Memory` at /dev/shm.
    Before: spec: {hostIPC: true}
    After: spec: {volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}]}
    Evidence: https://kubernetes.io/docs/concepts/security/pod-security-standards/
    """
    for role in job.roles if not job.serves_nodes else ():
        for field, what in (("hostIPC", "the shared memory"), ("hostPID", "the processes")):
            said = role.pod_tree.get("spec", field)
            if said and said.value is True:
                yield Finding(said, f"{field}: the pod shares {what} of its node with every other process there", "remove it")


def unknown_service_account(job: LintedJob) -> Iterator[Finding]:
    """The pods have a service account that is not among those of their namespace.

    Why: the server refuses pods of an account that is not there, so that none comes.
    Instead: name one of the accounts, or pass the file of the account, too.
    Before: serviceAccountName: trainer
    After: serviceAccountName: training
    Evidence: https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/
    """
    for role in job.roles:
        said = role.pod_tree.get("spec", "serviceAccountName")
        made = [text(each, "metadata", "name") for each in job.expanded.of_kind("ServiceAccount")]
        if not said or text(said) in ("", "default", *made) or job.documents.named(job.given, SERVICE_ACCOUNT, text(said)):
            continue
        known = job.documents.names_in_same_namespace(job.given, SERVICE_ACCOUNT)
        if known and not job.documents.may_get_name(SERVICE_ACCOUNT, text(said)):
            hint = closest(text(said), known) or f"known: {listed(known)}"
            yield Finding(said, f"no ServiceAccount `{text(said)}` in {job.called}'s namespace among the files", hint)


def homeless_user(job: LintedJob) -> Iterator[Finding]:
    """A container runs as a user that its image does not know, without a home or a name.

    Why: a user id without an entry in the image's /etc/passwd has the home `/`, where it may not write. Caches of Hugging Face, torch and
    others go to `/.cache`: the program ends with "Permission denied". It has no name either: torch.compile and vLLM, which ask for the
    name, end with "getpwuid(): uid not found", and ssh with "No user exists", so that mpirun reaches no worker. No image knows a user
    above 65535, and some public ones know none above 1000. CRI-O adds an entry, containerd does not.
    Instead: set `HOME`, or `HF_HOME` and the like, to a folder of a volume, and `USER` to any name; run mpirun as a user of the image.
    Before: securityContext: {runAsUser: 1000660000}
    After:
        securityContext: {runAsUser: 1000660000}
        env: [{name: HOME, value: /tmp}, {name: USER, value: trainer}]
    Evidence: kubeflow/mcp-server#33, opendatahub-io/ilab-on-ocp#26, huggingface/inference-benchmarker#47, h2oai/h2o-llmstudio#974,
        llm-d/llm-d-benchmark#1573
    """
    from jobspec.programs.mpirun import mentions_mpirun

    for container in job.containers:
        uses_ssh, runs_vllm = mentions_mpirun(container.program.texts), _runs_vllm(container)
        user = container.tree.get("securityContext", "runAsUser") or container.role.pod_tree.get("spec", "securityContext", "runAsUser")
        is_seen = container.trains or uses_ssh or runs_vllm
        if not is_seen or not user or not isinstance(user.value, int) or _may_be_known(container, user.value):
            continue
        names = _variables_set_for(container)
        lacks_name = names.isdisjoint(_NAMES) and (uses_ssh or runs_vllm or _asks_for_names(job, container))
        if uses_ssh:
            message = f"user {user.value} is not in the image: ssh refuses to work for it, so that mpirun reaches no worker"
            yield Finding(user, message, "run as a user of the image, and set `sshAuthMountPath` to `.ssh` in its home folder")
        elif names.isdisjoint(_HOMES):
            message = f"user {user.value} has no home in the image: caches go to `/.cache`, which it may not write"
            also = ", and `USER` to any name" if lacks_name else ""
            yield Finding(user, message, f"set `HOME` to a folder of a volume, such as /tmp{also}")
        elif lacks_name:
            program = "vLLM" if runs_vllm else "torch.compile"
            message = f"user {user.value} has no name in the image: {program} ends with `getpwuid(): uid not found`"
            yield Finding(user, message, "set `USER` to any name")


def capability_without_root(job: LintedJob) -> Iterator[Finding]:
    """A container adds the capability IPC_LOCK, and runs as a user for whom it has no effect.

    Why: Kubernetes gives added capabilities to root alone: the processes of another user have none, unless the image gives them to a file.
    RDMA then locks no more memory than the node allows, often 8 MiB: `ibv_reg_mr` fails, and NCCL falls back to TCP.
    Instead: raise the limit of the node's container runtime, `LimitMEMLOCK=infinity`, or run as root.
    Before: securityContext: {runAsUser: 1000, capabilities: {add: [IPC_LOCK]}}
    After: securityContext: {runAsUser: 0, capabilities: {add: [IPC_LOCK]}}
    Evidence: NVIDIA/nvidia-container-toolkit#2037; kubernetes/kubernetes#56374
    """
    for container in job.containers:
        added = next((each for each in items(container.tree.get("securityContext", "capabilities", "add")) if text(each) in _LOCKING), None)
        contexts = [container.tree.get("securityContext"), container.role.pod_tree.get("spec", "securityContext")]
        user, not_root = (next((text(each, name) for each in contexts if text(each, name)), "") for name in ("runAsUser", "runAsNonRoot"))
        if added and ((user and user != "0") or (not user and not_root == "True")):
            who = f"user {user}" if user else "a user that is not root"
            yield Finding(added, f"the container runs as {who}, who has `IPC_LOCK` only if the image gives it to the program's file")


#: How users write the capability to lock memory.
_LOCKING = frozenset(("IPC_LOCK", "CAP_IPC_LOCK"))


def _may_be_known(container: LintedContainer, user: int) -> bool:
    """Whether /etc/passwd of a container may have a user, or its variables are not known."""
    from jobspec.programs.public_images import may_know_user

    image = container.image
    if items(container.tree.get("envFrom")) or may_know_user(text(image) if image else "", user):
        return True
    mounts = [text(each, "mountPath") for each in items(container.tree.get("volumeMounts"))]
    given = [name for name, _ in container.variables]
    return any(each in word for each in _ENTRIES for word in (*container.program.texts, *mounts, *given))


def _runs_vllm(container: LintedContainer) -> bool:
    """Whether a container starts vLLM, which asks for the name of its user as it starts."""
    return any(file_name(word) == "vllm" or word.startswith("vllm.entrypoints") for word, _ in container.words)


def _asks_for_names(job: LintedJob, container: LintedContainer) -> bool:
    """Whether a container certainly runs a program of PyTorch."""
    is_of_torch = job.is_pytorchjob or job.in_runtime("spec", "mlPolicy", "torch") is not None
    return (is_of_torch or container.launcher == "torchrun") and not container.only_shows


def gated_model(job: LintedJob) -> Iterator[Finding]:
    """An initializer or a program downloads a gated model of Hugging Face without a token.

    Why: models of meta-llama and google/gemma need an account that accepted their licence. Without its token, the download gets 401, and
    the job never trains.
    Instead: name a Secret with the key `HF_TOKEN` or `ACCESS_TOKEN`.
    Before: model: {storageUri: "hf://meta-llama/Llama-3.2-1B-Instruct"}
    After: model: {storageUri: "hf://meta-llama/Llama-3.2-1B-Instruct", secretRef: {name: hf}}
    Evidence: kubeflow/trainer#2590, kubeflow/trainer#2669, kubeflow/trainer#2834
    """
    for container in job.containers:
        said = container.variable("STORAGE_URI")
        value = said and said.get("value")
        if not value or not _is_gated(text(value)):
            continue
        if not items(container.tree.get("envFrom")) and not any(container.variable(name) for name in _TOKENS_OF_HUB):
            name = text(value).removeprefix("hf://")
            yield Finding(value, f"`{name}` is gated: its download needs a token", "name a Secret with `HF_TOKEN` in `secretRef`")
    for container in job.containers:
        name, place = _gated_download(container)
        if place and not _may_log_in(container):
            message = f"`{name}` is gated: its download needs a token"
            yield Finding(place, message, "set `HF_TOKEN` from a Secret", severity="info")
    for container in job.training_containers:
        for flag, model, place in container.flags if _has_no_credentials(container) else ():
            if "model" in flag and _is_gated(f"hf://{model}"):
                message = f"`{model}` is gated: its download needs a token"
                yield Finding(place, message, "set `HF_TOKEN` from a Secret, or mount a folder that has the model", severity="info")


def _is_gated(uri: str) -> bool:
    import re

    return re.match(_GATED, uri) is not None


def _gated_download(container: LintedContainer) -> tuple[str, MarkedTree | None]:
    """Return the gated model that a container downloads by the hub's program, and its place.

    If there is none, the place is None.
    """
    words = [word for word, _ in container.words]
    for at, (word, place) in enumerate(container.words):
        if at > 1 and _is_gated(f"hf://{word}") and words[at - 1] == "download" and file_name(words[at - 2]) in _PROGRAMS_OF_HUB:
            return word, place
    return "", None


def _may_log_in(container: LintedContainer) -> bool:
    """True if a container may have a token of the hub in a variable, flag or file."""
    names = _variables_set_for(container)
    folders = [text(each, "mountPath") for each in items(container.tree.get("volumeMounts"))]
    is_given = any(word.startswith("--token") or word == "login" for word, _ in container.words)
    has_file = any("cache" in each or "huggingface" in each or each in ("/root", "/") for each in folders) or "HF_HOME" in names
    return bool(items(container.tree.get("envFrom"))) or is_given or has_file or any(map(_gives_access, names))


def _has_no_credentials(container: LintedContainer) -> bool:
    """True if nothing gives a container a token, or a folder that may hold what the token is for."""
    names = _variables_set_for(container)
    passing = {text(each, "name") for each in volumes_of(container.role) if each.get("emptyDir")}
    kept = [each for each in items(container.tree.get("volumeMounts")) if text(each, "name") not in passing]
    logs_in = any(word in ("login", "hf", "huggingface-cli") for word, _ in container.words)
    return not (items(container.tree.get("envFrom")) or kept or logs_in or any(_gives_access(each) for each in names))


def _variables_set_for(container: LintedContainer) -> set[str]:
    """Return the names of the variables in `env`, and of what words of the command line set."""
    return {name for name, _ in container.variables} | {word.partition("=")[0] for word, _ in container.words if "=" in word}


def _gives_access(variable: str) -> bool:
    return "TOKEN" in variable or variable in ("HF_ENDPOINT", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def _is_token(value: str) -> bool:
    """Whether a text has the form of a token."""
    if not value.startswith(_TOKENS):
        return False
    import re

    return re.fullmatch(TOKEN_FORMS, value) is not None


def _is_secret(name: str, value: str) -> bool:
    """True if a variable has the name of a secret, and a value that can be one."""
    return (name.upper() in SECRETS or name.upper().endswith(SECRET_ENDINGS)) and _is_real(value)


def _is_real(value: str) -> bool:
    """Whether a text can be a secret, and is not a placeholder for one."""
    return len(value) >= SHORTEST and value[0] not in _PLACEHOLDERS and not value.lower().startswith(("your", "xxx", "change", "replace"))


RULES = (
    Rule(homeless_user, "info", sees="any pods", reads=["runAsUser"]),
    Rule(capability_without_root, "info", sees="any pods", reads=["IPC_LOCK"]),
    Rule(gated_model, "warning", sees="any pods", reads=["meta-llama", "gemma"]),
    Rule(secret_in_manifest, "warning", sees="any pods", reads=["env", *_TOKENS, *SECRETS, *SECRET_ENDINGS], kinds=[CONFIG_MAP]),
    Rule(privileged_container, "warning", sees="any pods", reads=["privileged"]),
    Rule(unknown_service_account, "info", sees="any pods in a namespace", reads=["serviceAccount"]),
    Rule(host_namespaces, "info", sees="any pods", reads=["hostIPC", "hostPID"]),
)
