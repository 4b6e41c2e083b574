"""The page of a rule that is not advice: who says it, since when, an example of our cases, its message, and what to look at."""

from __future__ import annotations

from jobspec.apis.shipped import package_text
from jobspec.lint import pages
from jobspec.lint.catalogue import ADMISSION, rules, severity_of, stage_of
from jobspec.lint.topics import by_topic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.diagnostics.explanations import Stage
    from jobspec.diagnostics.rules import Rule

_WHO: Mapping[Stage, str] = {
    "decoding": "the API server's decoder, before any schema: k8s.io/apimachinery pkg/runtime/serializer/json, sigs.k8s.io/yaml",
    "schema": "the API server: for kinds of CRDs k8s.io/apiextensions-apiserver pkg/apiserver/schema and validation, "
    "for its own kinds k8s.io/kubernetes pkg/apis",
    "admission": "the API server's admission plugins and policies: k8s.io/kubernetes plugin/pkg/admission, k8s.io/apiserver pkg/admission",
    "render": "jobspec, where it builds or renders manifests",
    "outcome": "jobspec, from what the operators create of an accepted job, and from what the server says to that",
    "migration": "jobspec, where it compares two releases or kinds",
}
#: What to look at, in which order, where one message can have several causes.
_LOOK_AT: Mapping[str, Sequence[str]] = {
    "never-admitted": (
        "the message: it names the first cause, and the hint one line for each flavor",
        "`jobspec queue FILE --queues FOLDER`: the LocalQueue, its ClusterQueue and cohort, each flavor with what it lacks",
        "the queue: `stopPolicy` of LocalQueue and ClusterQueue, and `namespaceSelector` against the labels of the namespace",
        "the amounts: requests of all pods of a pod set together, against `nominalQuota`, `borrowingLimit` and what the cohort has",
        "the flavor: `nodeLabels` and taints against `nodeSelector`, affinity and tolerations of the pods",
        "limits that Kueue counts as requests, and defaults of a LimitRange in the namespace",
    ),
    "never-fits": (
        "the ResourceQuota that the message names, with its `scopes`: only some pods may count",
        "`jobspec expand FILE -o table`: the pods and their requests, all of which count together",
        "the objects that the operator creates beside the pods: Services, Jobs, claims",
        "what the quota has in use already: `status.used` of a cluster that `jobspec pin` wrote down",
    ),
    "pods-refused": (
        "the message: it is the server's reply to a pod that the operator creates, as an event of the job would show it",
        "`jobspec expand FILE -o yaml`: that pod, with all that the operator, runtime and webhooks add",
        "the runtime or template that wrote the value, and the labels of the namespace if Pod Security refuses the pod",
    ),
    "unschedulable": (
        "the largest pod: `jobspec expand FILE -o table`, against `allocatable` of the nodes in the pinned cluster",
        "`nodeSelector`, affinity and topology of the pods, against the labels of the nodes",
        "taints of the nodes, against the tolerations of the pods",
    ),
    "no-rendezvous": (
        "`jobspec expand FILE -o table`: the variables that the operator sets, and the command that reads them",
        "the command: torchrun without `--rdzv-endpoint` reads the variables PET_*; `python` reads MASTER_ADDR and RANK",
        "the address: a host name needs a Service, and the Service the labels of the pods",
    ),
}
_CODE = ("Example", "After the fix")


def sections(name: str) -> Iterator[tuple[str, str]]:
    """Yield the sections of a page, each with its heading; the first has none and says what the rule finds."""
    facts = _examples().get(name, {})
    rule = next((rule for each in ADMISSION for rule in each if rule.name == name), None)
    yield "", rules()[name]
    yield "Who says it", f"the operator's webhook: {facts['follows']}" if "follows" in facts else _WHO.get(stage_of(name), "")
    yield "Releases", _releases(rule) if rule else ""
    yield "Example", facts.get("before", "")
    yield "Message", facts.get("message", "")
    yield "Hint", facts.get("hint", "")
    yield "After the fix", facts.get("after", "")
    yield "Look at", "; ".join(f"({number}) {each}" for number, each in enumerate(_LOOK_AT.get(name, ()), 1))


def _releases(rule: Rule) -> str:
    """Return the releases of the operator in which a rule holds, or an empty string for all."""
    parts = [f"from {rule.since} on"] if rule.since else []
    parts += [f"before {rule.until}"] if rule.until else []
    return f"its operator {' and '.join(parts)}" if parts else ""


def as_text(name: str, width: int) -> str:
    """The page for a terminal, its sentences in lines of at most *width* columns."""
    from textwrap import fill

    lines = []
    for heading, said in sections(name):
        if not heading:
            lines.append(fill(f"{name} ({severity_of(name)}, {stage_of(name)}): {said}", width))
        elif said and heading in _CODE:
            lines += [f"\n{heading}:", *(f"    {line}".rstrip() for line in said.split("\n"))]
        elif said and heading == "Look at":
            steps = said.removeprefix("(").split("; (")
            lines += ["\nLook at, in this order:", *(fill(f"  ({each}", width, subsequent_indent="      ") for each in steps)]
        elif said:
            lines += ["", fill(f"{heading}: {said}", width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)]
    return "\n".join(lines) + "\n"


def as_markdown(name: str) -> str:
    """The page as a chapter of Markdown."""
    lines = [f"### {name}"]
    for heading, said in sections(name):
        if not heading:
            lines += ["", f"*{severity_of(name)}, {stage_of(name)}.* {said}"]
        elif said and heading in _CODE:
            lines += ["", f"{heading}:", "", "```yaml", said, "```"]
        elif said and heading == "Look at":
            lines += ["", "**Look at, in this order:**", "", *(f"{number}. {each}" for number, each in enumerate(_LOOK_AT[name], 1))]
        elif said:
            lines += ["", f"**{heading}:** {said}"]
    return "\n".join(lines) + "\n"


def _examples() -> Mapping[str, Mapping[str, str]]:
    """Return what our cases show of each rule, which `tests/support/rule_examples.py` writes."""
    from json import loads

    found: Mapping[str, Mapping[str, str]] = loads(package_text("lint", "rule_examples.json"))
    return found


def page() -> str:
    """All rules as one page of Markdown, which is `docs/rules.md`."""
    advice = {rule.name for found in by_topic().values() for rule in found}
    others = "\n".join(as_markdown(name) for name in rules() if name not in advice)
    topics = "".join(f"\n## {topic}\n\n" + "\n".join(map(pages.as_markdown, found)) for topic, found in by_topic().items())
    return f"{_HEAD}\n# Rules of `jobspec lint`\n{_LINT}{topics}\n# Rules of `jobspec validate`, `render` and the others\n\n{others}"


_HEAD = "<!-- Made by `jobspec explain --markdown`; changes made here are lost. -->\n"
_LINT = """
Each of these finds something that a server accepts and that runs: slow, costly or fragile. `jobspec explain NAME` prints one of them.
"""
