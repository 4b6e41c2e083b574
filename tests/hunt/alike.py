"""Folders of jobs that are alike, with objects of their names: what is found in one and reused for others is what each has by itself.

A find is a folder as one text, in which a line `# file: NAME` begins each of its files.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any
from unittest.mock import patch

from jobspec.diagnostics.results import FileResult
from jobspec.documents.reader import read
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Source
from jobspec.lint.linting import lint
from jobspec.operators.workloads import is_workload
from jobspec.world.alike_results import AlikeResults, SameResults
from jobspec.world.world import Cluster
from tests.hunt.finds import Find, bug
from tests.support.cases import target_of
from tests.support.reference import ROOT

_GROUPS = ("lint", "outcome", "guides", "policies", "validate", "ordinary")
_FILE = re.compile(r"^# file: (.*)\n", re.MULTILINE)
_START = re.compile(r"^---.*\n", re.MULTILINE)
_NAME = re.compile(r"^(metadata: *\{ *name: *|  name: *)([a-z][a-z0-9-]*)", re.MULTILINE)
#: Ends of names; others are numbers of any length.
_ENDS = ("", "-1", "-2", "-33", "-4444")
#: What operators add to the names of jobs.
_ADDED = ("", "-master-0", "-worker-0", "-node-0-0", "-launcher", "-worker", "-config", "-data", "-w-0", "-head-svc", "-runtime-snapshot")
_LABELS = (
    *("training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name", "batch.kubernetes.io/job-name"),
    *("leaderworkerset.sigs.k8s.io/name", "ray.io/cluster"),
)
#: Objects of a name, or for pods with a label.
_OBJECTS = (
    "apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\nspec: {selector: {app: x}, ports: [{port: 80}]}\n",
    "apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\nspec: {clusterIP: None, selector: {app: x}, ports: [{port: 80}]}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: b}\n",
    "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: NAME}\n",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME}\nstringData: {a: b}\n",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: a, image: 'a:1'}]}\n",
    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: NAME}\n"
    "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: NAME}\n"
    "spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}\n",
    "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: NAME}\n"
    "spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: 'a:1'}]}}}}}\n",
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: closed}\n"
    "spec: {podSelector: {matchLabels: {LABEL: NAME}}, policyTypes: [Ingress, Egress]}\n",
    "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: NAME}\n"
    "spec: {maxUnavailable: 0, selector: {matchLabels: {LABEL: NAME}}}\n",
)


def finds(random: Random, tally: Counter[str], *, count: int = 100) -> Iterator[Find]:
    """The folders of which jobs are judged otherwise than by themselves."""
    for _ in range(count):
        text = _folder(random)
        if said := difference(text, tally):
            yield Find(text, said, "the same by itself")


def difference(text: str, tally: Counter[str] | None = None) -> str:
    """What is said of the files of a folder where results are reused, and not by themselves; empty where there is nothing."""
    parts = _FILE.split(text)[1:]
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    of = AlikeResults.of

    def counted(results: AlikeResults, *asked: Any) -> Any:
        found = of(results, *asked)
        if tally is not None:
            tally["results that were reused"] += found is not None
        return found

    def none(*_: Any) -> None:
        return None

    try:
        reused, alone = (_said(files, *how) for how in ((counted, SameResults.of), (none, none)))
    except Exception:
        return bug()
    return "\n".join(sorted(reused ^ alone))[:600]


def _said(files: dict[str, str], alike: Callable[..., Any], same: Callable[..., Any]) -> set[str]:
    """Return all that is said of files, if results are looked for by some functions."""
    cluster = Cluster(target_of(""))
    with patch.object(AlikeResults, "of", alike), patch.object(SameResults, "of", same):
        given = [TextFile(Source(name, text, skip_unknown=True)) for name, text in files.items()]
        results = lint(travel(Journey(given, cluster, outcome=True)), cluster, lambda _: True)
    return {line for result in results for line in _lines(result)}


def _lines(result: FileResult) -> Iterator[str]:
    rows = [(each.index, each.status, each.runs, each.name) for each in result.documents]
    yield f"{result.path}: {rows}"
    yield from (f"{each.as_dict()} {each.changes}" for each in result.diagnostics)


def _folder(random: Random) -> str:
    """Files with the same few documents under names of several lengths, and a file with objects of some of these names."""
    documents = [random.choice(_jobs() if random.random() < 0.8 else _documents()) for _ in range(random.randint(1, 6))]
    files: dict[str, str] = {}
    for number in range(random.randint(3, 9)):
        end = random.choice((*_ENDS, f"-{random.randrange(10 ** random.randint(1, 55))}"))
        inside = [_NAME.sub(rf"\g<1>\g<2>{end}", each) for each in documents if random.random() < 0.85]
        if random.random() < 0.3:
            random.shuffle(inside)
        files[f"{random.choice('ab')}/{number}.yaml"] = "---\n".join(inside)
    names = sorted({name for text in files.values() for _, name in _NAME.findall(text)})
    chosen = random.sample(names, min(len(names), random.randint(2, 8)))
    objects = [random.choice(_OBJECTS).replace("NAME", f"{name}{random.choice(_ADDED)}") for name in chosen]
    files["a/objects.yaml"] = "---\n".join(each.replace("LABEL", random.choice(_LABELS)) for each in objects)
    return "".join(f"# file: {name}\n{text}" for name, text in files.items())


@cache
def _jobs() -> list[str]:
    """The documents that are jobs."""
    return [each for each in _documents() if any(map(is_workload, read(each, file="")[0]))]


@cache
def _documents() -> list[str]:
    """The documents of cases, each of which ends its line."""
    texts = [path.read_text() for group in _GROUPS for path in sorted((ROOT / "tests" / "cases" / group).glob("*.yaml"))]
    return [each for text in texts for each in _START.split(text) if "kind:" in each and each.endswith("\n") and not _FILE.search(each)]
