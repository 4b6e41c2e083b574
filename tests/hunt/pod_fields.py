"""Whether a server and we name the same places of a pod that is refused."""

import re
from collections.abc import Iterable

from jobspec.diagnostics.diagnostic import Diagnostic

#: Where the server's spelling of a place is not that of the field: the spelling, and the field.
_SPELLINGS = [
    (re.compile(spelling), field)
    for spelling, field in (
        # Metadata and annotations, without indexes and keys.
        (r"^(metadata\.(?!annotations)[^.\[]+).*", r"\1"),
        (r"^metadata$", "metadata.name"),
        (r"^(.*template)\.(labels|annotations)\b", r"\1.metadata.\2"),
        (r"^((?:.*template\.)?metadata\.annotations)\..*", r"\1"),
        (r"\.metadata\.uID\b", ".metadata.uid"),
        # Other names for fields.
        (r"(?<=spec)\.securityContext\.shareProcessNamespace$", ".shareProcessNamespace"),
        (r"(?<=spec)\.Host(PID|IPC)$", r".host\1"),
        (r"\.serviceAccountName$", ".serviceAccount"),
        (r"\.persistentDisk\b", ".gcePersistentDisk"),
        (r"\.cephFS\b", ".cephfs"),
        (r"\.downwarAPI\b", ".downwardAPI"),
        (r"\.initiatorname\b", ".initiatorName"),
        (r"\.csi\.name\b", ".csi.nodePublishSecretRef.name"),
        (r"(Execution\[\d+\](?:\.podAffinityTerm)?)\.namespace$", r"\1.namespaces"),
        (r"^\[\]$", "spec.resourceClaims"),
        # Resources.
        (r"\.resources\.containers\[(\d+)\]\[(.*)\]\.limits$", r".containers[\1].resources.limits[\2]"),
        (r"\.spec\.resources\[storage\]", ".spec.resources.requests[storage]"),
        (r"\.overhead\.limits\[", ".overhead["),
        (r"\.initContainers\[\d+\](\.ports\[\d+\]\.hostPort)$", r".initContainers[0]\1"),
        # Places that the server names less exactly, or in another field beside them.
        (r"\.projected\.path\b", ".projected"),
        (r"\.volumeMounts\.(subPath|subPathExpr|mountPropagation|recursiveReadOnly)\b", ".volumeMounts"),
        (r"(\.volumes\[\d+\]\.downwardAPI)\.(path|fieldRef|resourceFieldRef|mode).*", r"\1"),
        (r"(\.sources\[\d+\]\.downwardAPI)\.(path|fieldRef|resourceFieldRef|mode).*", r"\1"),
        (r"\.fieldRef\.apiVersion$", ".fieldRef.fieldPath"),
        (r"\.\{topologyKey, whenUnsatisfiable\}$", ""),
        (r"(\.tolerations\[\d+\])\.(operator|value)$", r"\1"),
        (r"(Execution\[\d+\](?:\.podAffinityTerm)?|\.topologySpreadConstraints\[\d+\])\[\d+\]$", r"\1"),
    )
]
_VOLUME = re.compile(r".*\.volumes\[\d+\]\.name")
_USE = re.compile(r"\.volume(Mounts|Devices)\[\d+\]\.name$|\.fileKeyRef\.volumeName$")
_HIDDEN = (("spec.overhead", "conflicting-values"),)  # what is looked at once validation has passed
_AS_A_WHOLE = ("missing-field", "conflicting-values")


def difference(found: Iterable[Diagnostic], fields: Iterable[str]) -> str:
    """The places that one side alone names. Ours may be inside of the server's, where that is less exact.

    The server does not count a volume that it refuses: it names mounts of it, too, and not another volume of that name.
    """
    theirs = {_place(field) for field in fields}
    ours = {_place(each.field): each for each in found if (each.field, each.rule) not in _HIDDEN or each.field in theirs}
    if "metadata.generateName" in theirs and "metadata.name" not in ours:
        theirs.discard("metadata.name")  # the name that the server made of it
    left = [place for place in theirs if not any(_is_same(place, *each) for each in ours.items())]
    more = [place for place, each in ours.items() if not any(_is_same(other, place, each) for other in theirs)]
    if any(".volumes[" in place for place in theirs):
        left = [place for place in left if not _USE.search(place)]
        more = [place for place in more if not _VOLUME.fullmatch(place)]
    return f"only theirs {sorted(left)}, only ours {sorted(more)}" if left or more else ""


def _place(field: str) -> str:
    for spelling, place in _SPELLINGS:
        field = spelling.sub(place, field)
    return field


def _is_same(place: str, ours: str, found: Diagnostic) -> bool:
    """Whether a place is that of a problem of ours, or around it; or inside of what is missing, or has to go, as a whole.

    A limit that is wrong is wrong as the request that the server makes of it, too.
    """
    inside = found.rule in _AS_A_WHOLE and place.startswith((f"{ours}.", f"{ours}["))
    request = re.sub(r"\.limits(\[.*\])$", r".requests\1", ours) == place
    return inside or request or place == "<nil>" or f"{ours}.".startswith((f"{place}.", f"{place}["))
