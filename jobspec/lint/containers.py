"""Containers: pinned images, variables that have an effect, no secrets in manifests, no needless privileges."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.diagnostics import Edit, Finding, Rule, remove
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.kinds import SERVICE_ACCOUNT
from jobspec.kubernetes.pods.defaults import image_name
from jobspec.kubernetes.problems import closest, listed
from jobspec.lint.linted import LintedContainer, LintedJob
from jobspec.programs.command_lines import JAX, TORCH
from jobspec.workloads import REPLICATED_JOBS

_FILLED_IN = "${"  # what stands for a text that a program fills in later


# Images: pinned, valid, and built for the devices of the pod.


_LONGEST_TAG = 128


def unpinned_image(job: LintedJob) -> Iterator[Finding]:
    """Mutable tag: an image has no tag, or `latest`.

    Why: the nodes of one job can run different images, where some have an old one in their cache; a restarted pod can get another one
    than it began with; and nobody can say later what a model was trained with.
    Instead: name a fixed tag or, better, a digest.
    Before: image: ghcr.io/acme/train:latest
    After: image: ghcr.io/acme/train:1.4.2
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image, _, is_valid in _images(job):
        if is_valid and "@" not in image.value and _tag(image.value) in ("", "latest"):
            tag = "" if _tag(image.value) else ", that is `:latest`,"
            yield Finding(image, f"mutable tag: `{image.value}`{tag} can change under the same name", "pin a version tag or a digest")


def invalid_image(job: LintedJob) -> Iterator[Finding]:
    """The image is not a valid image reference.

    Why: the server takes any text. The kubelet does not: the pod stays in InvalidImageName, forever. Mostly a placeholder of a guide was
    left, or a name has capital letters.
    Instead: a registry, a repository in small letters, and a tag.
    Before: image: <registry>/Train:1.4
    After: image: ghcr.io/acme/train:1.4
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image, _, is_valid in _images(job):
        if not is_valid:
            yield Finding(image, f"`{image.value}` is not a valid image reference", "use lower-case letters, digits, `.`, `_`, `-` and `/`")


def image_without_digest(job: LintedJob) -> Iterator[Finding]:
    """An image without a digest: its tag can be moved to another image.

    Why: a tag is a name that its owner can give to another image; a digest is the image itself.
    Instead: write the digest behind the tag.
    Before: image: ghcr.io/acme/train:1.4.2
    After: image: ghcr.io/acme/train:1.4.2@sha256:...
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image, _, is_valid in _images(job):
        if is_valid and image.mark.line and "@" not in image.value and _tag(image.value) not in ("", "latest"):
            yield Finding(image, f"image without a digest: the tag of `{image.value}` can be moved", "pin it with `@sha256:...`")


def needless_pull(job: LintedJob) -> Iterator[Finding]:
    """`imagePullPolicy: Always` on an image with a digest, where it has no effect.

    Why: a digest cannot mean another image, so that there is nothing to ask; where the registry is away, the pod does not start.
    Instead: leave `imagePullPolicy` out.
    Fix: removes `imagePullPolicy` of the container.
    Before: {image: "train@sha256:...", imagePullPolicy: Always}
    After: {image: "train@sha256:..."}
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy
    """
    for image, container, is_valid in _images(job):
        policy = container.tree.get("imagePullPolicy")
        if is_valid and "@sha256:" in image.value and policy and policy.value == "Always" and policy.mark.line:
            message = "`imagePullPolicy: Always` has no effect on an image with a digest"
            yield Finding(policy, message, "remove it", edits=[(policy, remove())])


def cpu_image_with_gpus(job: LintedJob) -> Iterator[Finding]:
    """A pod with GPUs runs a CPU-only image, by its name.

    Why: a PyTorch without CUDA does not see the GPUs: the job trains on the CPU, slowly, and nobody else gets the GPUs.
    Instead: take the image for GPUs, or ask for none.
    Before:
        image: train:2.4-cpu
        limits: {nvidia.com/gpu: 1}
    After:
        image: train:2.4-cuda
        limits: {nvidia.com/gpu: 1}
    Evidence: kubeflow/trainer#2266
    """
    for image, container, is_valid in _images(job):
        parts = image.value.rpartition("/")[2].replace(":", "-").replace("_", "-").replace(".", "-").lower().split("-")
        if is_valid and container.gpus and "cpu" in parts and not {"gpu", "cuda"} & set(parts):
            yield Finding(image, "CPU-only image (by its name) in a container that requests GPUs", "use the GPU build of the image")


def _images(job: LintedJob) -> Iterator[tuple[MarkedTree, LintedContainer, bool]]:
    """The image of each container, of each role once, and whether the kubelet takes it for the name of one."""
    for container in job.containers:
        image = container.image
        if image and image.value and not any(sign in image.value for sign in _FILLED_IN):
            yield image, container, is_plain(image.value) or image_name(image.value) is not None


def is_plain(image: str) -> bool:
    """Whether a name needs no parsing: lower-case words with one sign between any two, and perhaps a tag."""
    tag = image.partition(":")[2]
    words = image.replace(":", "/", 1).replace(".", "/").replace("-", "/").split("/")
    return image.isascii() and image.islower() and all(map(str.isalnum, words)) and "/" not in tag and len(tag) <= _LONGEST_TAG


def _tag(image: str) -> str:
    return image.rpartition("/")[2].partition("@")[0].partition(":")[2]


# Environment variables.


_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK")


def overridden_variable(job: LintedJob) -> Iterator[Finding]:
    """The operator sets the same variable: the job's value is lost.

    Why: training-operator appends MASTER_ADDR, WORLD_SIZE, RANK, PYTHONUNBUFFERED and the PET_ variables to each container, and the last
    of a name counts; the trainer replaces PET_ variables of a runtime. What is written is not what the program sees.
    Instead: leave the variable out. For another port, give the container a port named `pytorchjob-port`.
    Fix: removes the value that no pod sees, unless another variable takes it.
    Before: env: [{name: WORLD_SIZE, value: "8"}]
    After: env: []
    Evidence: `setPodEnv` of training-operator pkg/controller.v1/pytorch; `Torch` plugin of github.com/kubeflow/trainer
    """
    for container in job.containers:
        variables = [] if container.is_init else container.variables
        last = dict(variables)
        for name, each in variables:
            of_operator = last[name]
            if of_operator is each or not each.mark.line or of_operator.mark.line:
                continue
            if text(each, "value") != text(of_operator, "value"):
                message = f"`{name}` is overwritten by the operator: this value is lost"
                yield Finding(each, message, "remove it", edits=_removal(each, container.tree))


def replaced_variable(job: LintedJob) -> Iterator[Finding]:
    """The runtime sets a variable that the trainer overwrites.

    Why: nobody checks a runtime for the variables that the trainer keeps for itself; it writes its own values over them.
    Instead: leave the variable out; the TrainJob says the numbers of nodes and processes.
    Fix: removes the value that no pod sees, unless another variable takes it.
    Before: env: [{name: PET_NNODES, value: "4"}]
    After: env: []
    Evidence: `Torch` plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0 to 2.3
    """
    if job.get("spec", "mlPolicy", "torch") is None:
        return
    for role in items(job.tree.get(*REPLICATED_JOBS)):
        for container in items(role.get("template", "spec", "template", "spec", "containers")):
            for each in items(container.get("env")):
                if text(each, "name") in TORCH and text(container, "name") == "node":
                    message = f"`{text(each, 'name')}` is overwritten by the trainer"
                    yield Finding(each, message, "remove it", edits=_removal(each, container))


def replacing_variable(job: LintedJob) -> Iterator[Finding]:
    """A TrainJob overrides a variable by which the trainer gives JAX its rank.

    Why: the trainer refuses its own PET_ variables in a job, but lets those of JAX through: the job's value then counts in every pod, so
    that all of them are the same process or wait for another number of them.
    Instead: leave it out; the trainer sets it for each pod.
    Fix: gives each pod its own `JAX_COORDINATOR_ADDRESS`, `JAX_NUM_PROCESSES` and `JAX_PROCESS_ID`.
    Before: trainer: {env: [{name: JAX_PROCESS_ID, value: "0"}]}
    After: trainer: {env: []}
    Evidence: `Jax` plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/jax, 2.2 and 2.3
    """
    is_jax = job.in_runtime("spec", "mlPolicy", "jax") is not None
    for each in items(job.tree.get("spec", "trainer", "env")) if is_jax else ():
        if text(each, "name") in JAX:
            message = f"`{text(each, 'name')}` overrides the value that the trainer sets for each pod"
            yield Finding(each, message, "remove it", edits=[(each, remove())])


def hardcoded_rank(job: LintedJob) -> Iterator[Finding]:
    """A TrainJob sets a rank by hand: the same one in every pod.

    Why: one value for all pods makes all of them rank 0, or whatever is set there; torchrun sets these variables for each process, and
    replaces the job's.
    Instead: start the program by torchrun, and leave the variable out.
    Before:
        command: [python, train.py]
        env: [{name: RANK, value: "0"}]
    After: command: [torchrun, train.py]
    Evidence: kubeflow/trainer#2800; kubeflow/trainer docs/operator-guides/migration.md
    """
    for container in job.training_containers if job.training_pods > 1 else ():
        for name, each in container.variables:
            if name in _RANKS and each.mark.line and each.get("value"):
                message = f"all {container.role.count} pods have `{name}={text(each, 'value')}`"
                yield Finding(each, message, "start the program with torchrun, which sets it")


def _removal(variable: MarkedTree, container: MarkedTree) -> list[Edit]:
    """The edit that removes a variable; none where another one takes its value, which would be another one then."""
    wanted = f"$({text(variable, 'name')})"
    is_taken = any(wanted in text(each, "value") for each in items(container.get("env")))
    return [] if is_taken else [(variable, remove())]


# Secrets in manifests, and privileges that training does not need.


_SECRET_ENDINGS = ("_TOKEN", "_PASSWORD", "_SECRET", "_API_KEY", "_SECRET_KEY", "_ACCESS_KEY", "_PRIVATE_KEY")
_SECRETS = ("TOKEN", "PASSWORD", "SECRET", "API_KEY", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY")
_SHORTEST = 8
#: The whole form of tokens.
_FORMS = r"hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|glpat-[\w-]{20,}|AKIA[0-9A-Z]{16}"
#: How tokens of Hugging Face, GitHub, GitLab and AWS begin.
_TOKENS = ("hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "AKIA")
_PLACEHOLDERS = "<${"


def secret_in_manifest(job: LintedJob) -> Iterator[Finding]:
    """Plaintext secret in the manifest: a variable with a secret's name, or a token.

    Why: everybody who may read the repository, the job or its pods has it, and Git keeps it forever.
    Instead: put it into a Secret, and take it from there. Make the old one invalid.
    Before: env: [{name: HF_TOKEN, value: hf_abcdefghijkl}]
    After: env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hugging-face, key: token}}}]
    Evidence: https://kubernetes.io/docs/concepts/security/secrets-good-practices/
    """
    for container in job.containers:
        for name, each in container.variables:
            value = each.get("value")
            is_secret = name.upper() in _SECRETS or name.upper().endswith(_SECRET_ENDINGS)
            is_secret = (is_secret and _is_real(text(value))) or _is_token(text(value))
            if is_secret and value and value.mark.line:
                yield Finding(
                    value, f"plaintext secret: the value of `{name}` is in the manifest", "use a Secret: `valueFrom.secretKeyRef`"
                )
        for word, place in container.words:
            if _is_token(word.rpartition("=")[2]):
                yield Finding(place, "plaintext secret: a token is in the manifest", "use a variable from a Secret")


def privileged_container(job: LintedJob) -> Iterator[Finding]:
    """A container is privileged.

    Why: it is root on the node, with all of its devices: any GPU, whoever asked for it, too. Training needs none of it; RDMA needs the
    capability IPC_LOCK alone. Namespaces of the Pod Security levels baseline and restricted refuse such pods.
    Instead: leave it out, or add the capability.
    Before: securityContext: {privileged: true}
    After: securityContext: {capabilities: {add: [IPC_LOCK]}}
    Evidence: https://kubernetes.io/docs/concepts/security/pod-security-standards/
    """
    for container in job.containers:
        said = container.tree.get("securityContext", "privileged")
        if said and said.value is True:
            hint = "add the capability that is needed instead, IPC_LOCK for RDMA"
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
    for role in job.roles:
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
        if not said or text(said) in ("", "default") or job.documents.named(job.given, SERVICE_ACCOUNT, text(said)):
            continue
        known = job.documents.names_in_same_namespace(job.given, SERVICE_ACCOUNT)
        if known:
            hint = closest(text(said), known) or f"known: {listed(known)}"
            yield Finding(said, f"no ServiceAccount `{text(said)}` in the job's namespace among the files", hint)


def _is_token(value: str) -> bool:
    """Whether a text has the form of a token."""
    if not value.startswith(_TOKENS):
        return False
    import re

    return re.fullmatch(_FORMS, value) is not None


def _is_real(value: str) -> bool:
    """Whether a text can be a secret, and is not a placeholder for one."""
    return len(value) >= _SHORTEST and value[0] not in _PLACEHOLDERS and not value.lower().startswith(("your", "xxx", "change", "replace"))


IMAGE_RULES = (
    Rule(unpinned_image, "warning"),
    Rule(invalid_image, "warning"),
    Rule(image_without_digest, "info", by_default=False),
    Rule(needless_pull, "info", reads=["@sha256:"]),
    Rule(cpu_image_with_gpus, "warning", reads=["gpu"]),
)
ENVIRONMENT_RULES = (
    Rule(overridden_variable, "warning", reads=["env"]),
    Rule(replaced_variable, "warning", sees="runtime's pods", reads=TORCH),
    Rule(replacing_variable, "warning", sees="TrainJob", reads=JAX),
    Rule(hardcoded_rank, "warning", sees="TrainJob", reads=_RANKS),
)
SECURITY_RULES = (
    Rule(secret_in_manifest, "warning", reads=["env", *_TOKENS]),
    Rule(privileged_container, "warning", reads=["privileged"]),
    Rule(unknown_service_account, "info", sees="job", reads=["serviceAccount"]),
    Rule(host_namespaces, "info", reads=["hostIPC", "hostPID"]),
)
