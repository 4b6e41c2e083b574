"""A rule as a policy says it: what it finds in an object, in CEL, for which kinds, with which parameters."""

from __future__ import annotations

from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.apis.kinds import GroupKind


class Parameter(Record):
    """A value of a policy that a cluster may choose; its default is that of the rule."""

    name: str
    """In kebab-case: the key of a ConfigMap."""
    default: int | Sequence[str]
    what: str
    """What it means, as the description of its field in the CRD."""

    @property
    def field(self) -> str:
        """Its name in camelCase: the field of a custom resource, and the variable of the policy."""
        first, *others = self.name.split("-")
        return first + "".join(each.capitalize() for each in others)


class PolicyRule(Record):
    """A rule of the catalogue, said in CEL."""

    name: str
    """The rule's, in the catalogue."""
    found: str
    """The list of texts that say what is wrong, in CEL; empty if the rule is kept."""
    kinds: Sequence[GroupKind]
    """The kinds that it can be said of."""
    variables: Mapping[str, str] = {}
    """What `found` reads, in CEL, before it."""
    parameters: Sequence[Parameter] = ()
    written_only: bool = False
    """Whether it is about what people write, not about what a controller makes of it."""
    differs: Sequence[str] = ()
    """What the policy says otherwise than the rule, as sentences."""
