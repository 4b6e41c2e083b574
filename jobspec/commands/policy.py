"""`jobspec policy`: rules as ValidatingAdmissionPolicies with bindings, as a stream or as a folder of files."""

from __future__ import annotations

import sys

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.explanations import RENAMED
from jobspec.documents.writer import write
from jobspec.kubernetes.problems import closest
from jobspec.policies.catalogue import POLICIES, unsaid
from jobspec.policies.objects import ACTIONS, PLACES, Choices, written
from jobspec.policies.templates import EVERY
from jobspec.reports.terminal import wrapped
from jobspec.session.arguments import declare
from jobspec.session.options import Option, Options
from jobspec.session.terminal import is_terminal, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.apis.kinds import GroupKind
    from jobspec.policies.rule import PolicyRule


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    parser.add_argument(
        "rules", nargs="*", metavar="RULE", help="the rules to print; by default every rule that can be written as a policy"
    )
    options = [
        Option("--action", dest="validation_action", choices=ACTIONS, what="what the server does with an object that breaks a rule"),
        Option("--parameters", choices=PLACES, what="read parameters from a ConfigMap or a custom resource, which is printed, too"),
        Option("--parameters-namespace", metavar="NAME", what="the namespace of the ConfigMap; `-` for that of each object"),
        Option("--namespace-label", metavar="KEY=VALUE", repeatable=True, what="hold in the namespaces with this label alone"),
        Option(
            "--namespace",
            dest="namespaces",
            metavar="NAME",
            repeatable=True,
            what="hold in this namespace alone; by default in all but the system's",
        ),
        Option("--kind", dest="kinds", metavar="KIND", repeatable=True, what="judge objects of this kind alone, such as TrainJob or Pod"),
        Option("--to", dest="to_dir", metavar="DIR", what="write one file per object to DIR, as render does"),
        Option(
            "--list",
            dest="listed",
            what="print no policies, but which rules they say, with their parameters, and why they cannot say the others",
        ),
    ]
    declare(parser, options)


def run(options: Options) -> int:
    """Print policies, or list them."""
    if options.listed:
        sys.stdout.writelines(f"{line}\n" for line in _listed(options.rules, width_of(sys.stdout) if is_terminal(sys.stdout) else None))
        return 0
    objects = written(_wanted(options.rules), _choices(options))
    if not objects:
        raise JobspecError(f"none of these rules is for {', '.join(options.kinds)}")
    if options.to_dir is None:
        sys.stdout.write(write(objects))
        return 0
    if not options.to_dir:
        raise JobspecError("--to needs the name of a folder")
    from jobspec.documents.atomic_writes import write_rendered

    files = {f"{each['kind'].lower()}-{each['metadata']['name']}.yaml": write([each]) for each in objects}
    sys.stdout.writelines(f"{path}\n" for path in write_rendered(options.to_dir, files))
    return 0


def _wanted(names: Sequence[str]) -> list[PolicyRule]:
    """The policies of some rules; of all without a name. Raises JobspecError for a rule that no policy says."""
    current = list(dict.fromkeys(RENAMED.get(each, each) for each in names))
    for name in current:
        if name in unsaid():
            raise JobspecError(f"no policy can say `{name}`: {unsaid()[name]}")
        if name not in POLICIES:
            hint = closest(name, (*POLICIES, *unsaid())) or "`jobspec policy --list` has those that there are"
            raise JobspecError(f"no rule `{name}` of lint or outcome: {hint}")
    return [POLICIES[each] for each in current or POLICIES]


def _choices(options: Options) -> Choices:
    place = options.parameters_namespace
    return Choices(
        action=options.validation_action,
        parameters=options.parameters,
        namespace="" if place == "-" else place or Choices().namespace,
        labels=dict(map(_label, options.namespace_label)),
        namespaces=options.namespaces,
        only=tuple(map(_kind, options.kinds)),
    )


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise JobspecError(f"--namespace-label takes KEY=VALUE, not `{text}`")
    return key, value


def _kind(name: str) -> GroupKind:
    """The kind of a name in any case."""
    by_lower = {each[1].lower(): each for each in EVERY}
    if name.lower() not in by_lower:
        names = sorted(each[1] for each in EVERY)
        raise JobspecError(f"no policy is for `{name}`: {closest(name, names) or 'the kinds are ' + ', '.join(names)}")
    return by_lower[name.lower()]


def _listed(names: Iterable[str], width: int | None) -> Iterator[str]:
    """The lines of `--list`, broken to *width* columns: rules that policies say, and for each of the others the reason."""
    for name, texts in _texts_of(names):
        if width is None:
            yield f"{name:28}{texts[0]}"
            yield from (f"{'':28}{each}" for each in texts[1:])
        elif width >= _WIDE:
            yield from wrapped(texts[0], width, " " * 30, first=f"{name:28}")
            yield from (line for each in texts[1:] for line in wrapped(each, width, " " * 30, first=" " * 28))
        else:
            yield name
            yield from (line for each in texts for line in wrapped(each, max(width, _NARROW), "    ", first="  "))


_WIDE, _NARROW = 90, 40  # columns


def _texts_of(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each rule with its kinds and what its policy says otherwise, or with the reason why there is none."""
    chosen = {RENAMED.get(each, each) for each in names}
    for name, rule in _chosen(POLICIES, chosen).items():
        parameters = f" (parameters: {', '.join(each.name for each in rule.parameters)})" if rule.parameters else ""
        yield name, [f"{', '.join(dict.fromkeys(each[1] for each in rule.kinds))}{parameters}", *(f"- {each}" for each in rule.differs)]
    for name, reason in _chosen(unsaid(), chosen).items():
        yield name, [f"no policy: {reason}"]


def _chosen(found: Mapping[str, Any], names: set[str]) -> Mapping[str, Any]:
    return {name: value for name, value in found.items() if not names or name in names}
