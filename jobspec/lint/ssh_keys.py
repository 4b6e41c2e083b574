"""The SSH key of mpirun: whether the user of the launcher can use the one that an operator mounts."""

from __future__ import annotations

from jobspec.apis.kinds import MPIJOB
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.lint.container import LintedContainer, volumes_of
from jobspec.lint.mpi_hosts import workers
from jobspec.operators.mpi_operator import KEYS_FOLDER, LAUNCHER, OF_OWN_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.lint.linted import LintedJob


def unusable_ssh_key(job: LintedJob) -> Iterator[Finding]:
    """The user of the launcher's container cannot use the key that the operator mounts.

    Why: SSH refuses a key of its user's own that others may read. Root owns the mounted key, so that root can use it only where nobody
    else may: below `/root/.ssh` of an MPIJob without `fsGroup`, in no TrainJob. Another user has to be able to read it, in the home folder
    of that user: in an MPIJob outside of `/root`; in a TrainJob, from trainer 2.3 on, only as a member of its group, which `fsGroup` says.
    Instead: run as a user of the image, and set `sshAuthMountPath` to the `.ssh` in its home folder; in a TrainJob with its group as
    `fsGroup`. As root in an MPIJob, leave the path out.
    Before: "securityContext: {runAsUser: 1000}"
    After: "sshAuthMountPath: /home/mpiuser/.ssh, securityContext: {runAsUser: 1000}"
    Evidence: kubeflow/mpi-operator#429, kubeflow/mpi-operator#301, kubeflow/mpi-operator#383, kubeflow/trainer#3262,
        kubeflow/trainer#2716
    """
    for launcher in job.containers:
        key = _mounted_key(launcher) if launcher.role.name.lower() == LAUNCHER.lower() else None
        if key is None or _brings_keys(launcher) or (job.given.group_kind == MPIJOB and not workers(job)):
            continue
        mount, mode, folder = key
        user, is_root = user_of(launcher)
        group = launcher.role.pod_tree.get("spec", "securityContext", "fsGroup")
        mode |= _OF_GROUP_VOLUME if group else 0
        is_root_owned_only = not mode & _OF_OTHERS and not group and not _is_of_group_of_root(launcher)
        what = f"user {text(user)}" if user and text(user).isdecimal() else "a user that is not root"
        if user and is_root and mode & _BY_OTHERS:
            readers = "all" if mode & _OF_OTHERS else "a group"
            yield Finding(*_way_of_root(job, readers, folder, mount, group or user))
        elif user and not is_root and folder.startswith("/root/"):
            message = f"mpirun cannot connect: {what} cannot read the key in `{folder}`"
            yield Finding(user, message, "set `sshAuthMountPath` to a home folder")
        elif user and not is_root and is_root_owned_only:
            message = f"mpirun cannot connect: {what} cannot read the key, which is of root's group, in `{folder}`"
            yield Finding(user, message, f"set `fsGroup` of the pods to the group of the user{_OF_OPENSHIFT}")
        elif user is None and is_root_owned_only and mode & _BY_OTHERS:
            message = f"mpirun cannot connect: SSH refuses the key in `{folder}` for root, and no other user can read it"
            hint = f"set `fsGroup` of the pods to the group of the image's user{_OF_OPENSHIFT}"
            yield Finding(mount.get("mountPath") or mount, message, hint, severity="info")


_PRIVATE_KEY = "id_rsa"
_OF_OPENSHIFT = ", unless the cluster sets it, as OpenShift's SCC does"
_BY_DEFAULT = 0o644
#: The bits of a mode by which users besides the owner may read or write, those of all others, and those that `fsGroup` adds.
_BY_OTHERS, _OF_OTHERS, _OF_GROUP_VOLUME = 0o077, 0o004, 0o440


def _mounted_key(container: LintedContainer) -> tuple[MarkedTree, int, str] | None:
    """The mount of the operator's private key in a container, and the key's mode and folder.

    If the key is not mounted, return None.
    """
    for volume in volumes_of(container.role):
        files = items(volume.get("secret", "items"))
        key = next((each for each in files if text(each, "path") == _PRIVATE_KEY and not each.mark.line), None)
        mount = next((each for each in items(container.tree.get("volumeMounts")) if text(each, "name") == text(volume, "name")), None)
        if key and mount:
            said = key.get("mode") or volume.get("secret", "defaultMode")
            return mount, _BY_DEFAULT if said is None else said.value, text(mount, "mountPath")
    return None


def _is_of_group_of_root(container: LintedContainer) -> bool:
    """True if the user of a container is in the group of root.

    A mounted Secret belongs to that group.
    """
    pod = container.role.pod_tree.get("spec", "securityContext")
    own = container.tree.get("securityContext", "runAsGroup") or (pod.get("runAsGroup") if pod else None)
    further = [each.value for each in items(pod.get("supplementalGroups"))] if pod else []
    return 0 in further or (own is not None and own.value == 0)


def _way_of_root(job: LintedJob, readers: str, folder: str, mount: MarkedTree, place: MarkedTree) -> tuple[MarkedTree, str, str]:
    """The place, message and hint about root's own key that others may read."""
    message = f"mpirun cannot connect: SSH refuses a key of root that {readers} may read, in `{folder}`"
    if job.given.group_kind != MPIJOB:
        return place, message, "run as another user, with its group as `fsGroup` and its `.ssh` as `sshAuthMountPath`"
    if folder != KEYS_FOLDER:
        return job.tree.get("spec", "sshAuthMountPath") or mount, message, "leave out the path"
    return place, message.removesuffix(f", in `{folder}`"), "remove `fsGroup` of the launcher"


def _brings_keys(launcher: LintedContainer) -> bool:
    """True if the launcher has SSH use keys of its own, or copies of the mounted ones.

    The command line says so, or a variable.
    """
    given = any(name.startswith("OMPI_MCA_plm_rsh") and each.mark.line for name, each in launcher.variables)
    return given or launcher.program.mentions("chmod", *OF_OWN_KEYS)


def user_of(container: LintedContainer) -> tuple[MarkedTree | None, bool]:
    """Return what says the user of a container, and whether that is root.

    If the image decides, it is None.
    """
    contexts = [container.tree.get("securityContext"), container.role.pod_tree.get("spec", "securityContext")]
    for field in ("runAsUser", "runAsNonRoot"):
        for said in (each.get(field) for each in contexts if each):
            if said and said.value is not None and (field == "runAsUser" or said.value is True):
                return said, field == "runAsUser" and said.value == 0
    return None, False


RULES = (Rule(unusable_ssh_key, "warning", reads=["mpi"]),)
