"""Whole processes side by side: jobspec against kubeconform and kustomize (Go programs), and against a bare interpreter.

    python tests/bench/bench.py [--manifests FOLDER] [--kubeconform PATH] [--kustomize PATH] [--kubectl PATH] [--crds FOLDER]
        [--before CHECKOUT] [--runs N]

Prints the median wall time of each, its ratio to the first one's in the same rounds, its processor time and the memory of its largest
process. The jobs are those of our guides, or with `--manifests` all PyTorchJobs and TrainJobs in a folder of public manifests that both
programs accept. kubeconform validates the same files by jobspec's own JSON Schemas, or with `--crds` by those that its users make of
upstream's CRDs. A project of 1,000 variants is rendered on two processors: to a folder that is not there, over one in which one variant is
another one, over one that is as it should be, and to compare only. Beside it `kubectl kustomize` builds a single one of these variants, and
all of them, by overlays that make the same changes: it prints them, without a file for each, a hash in a name or a check. jobspec is
measured as users have it: installed into a virtual environment, with byte code, which a checkout may lack. `jobspec validate`, which says
what becomes of jobs, is measured beside its `--no-outcome`, `jobspec lint`, which validates, too, beside `jobspec validate`, and what
`jobspec lint --fix` would fix beside `jobspec lint`. 500 jobs are judged behind 50 admission policies, which all match. `jobspec expand`
prints the objects of one job, and of one of a thousand nodes. `jobspec diff` compares a repository in which one of 300 overlays is changed,
beside `kubectl kustomize` of that overlay twice. A cold start is measured on the job of middle length, of those that `expand`
takes: it needs the runtime of a TrainJob, too. Without a peer only what needs none is measured. With `--before`, the code of a checkout of
another commit, `git worktree add --detach CHECKOUT COMMIT`, validates and lints the same files in turn with this one, and small files with
three findings each.

Nothing is deleted while it is measured. A file system without a journal, as that of a virtual machine may be, gives no file the place of
one that was deleted in the last minutes, and to look for another place then takes longer than all else.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from jobspec.apis.releases import RELEASES
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.documents.streams import cut
from tests.support.repositories import committed

ROOT = Path(__file__).parent.parent.parent
GUIDES = ROOT / "tests" / "cases" / "guides"
PLACES = {
    "PyTorchJob": ("training-operator", "kubeflow.org", "pytorchjob_v1"),
    "TrainJob": ("trainer", "trainer.kubeflow.org", "trainjob_v1alpha1"),
}
NUMBER = 2000
OVERLAYS = ("gpu-nccl", "istio-off")
#: What the overlays do, as the patches that users of kustomize write.
PATCHES = (
    """\
- {op: add, path: /spec/pytorchReplicaSpecs/Master/template/spec/containers/0/resources, value: {limits: {nvidia.com/gpu: 1}}}
- {op: add, path: /spec/pytorchReplicaSpecs/Worker/template/spec/containers/0/resources, value: {limits: {nvidia.com/gpu: 1}}}
""",
    """\
- {op: add, path: /spec/pytorchReplicaSpecs/Master/template/metadata, value: {annotations: {sidecar.istio.io/inject: "false"}}}
- {op: add, path: /spec/pytorchReplicaSpecs/Worker/template/metadata, value: {annotations: {sidecar.istio.io/inject: "false"}}}
""",
)
SMALL = 10_000
#: A job with three findings.
WITH_FINDINGS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train-NUMBER}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicaz: 1
      restartPolicy: 1
      template: {spec: {containers: [{name: pytorch, image: "a:1", comand: [python, train.py]}]}}
"""
VARIANTS = 1000
MANY_OVERLAYS = 300
NODES = 1000
POLICIES = 50
BEHIND_POLICIES = 500
#: What the policies are for in turn, and what they want: variables, and an expression that holds.
RULES = (
    ("pods", {}, "object.spec.containers.all(c, !c.image.startsWith('registry-NUMBER/'))"),
    ("jobs", {}, "size(object.metadata.name) < 63 + NUMBER"),
    ("pods", {"all": "object.spec.containers"}, "variables.all.all(c, !has(c.env) || c.env.all(e, e.name != 'SECRET_NUMBER'))"),
    ("jobs", {"labels": "object.metadata.?labels.orValue({})"}, "!('closed-NUMBER' in variables.labels) || request.operation == 'UPDATE'"),
    ("pods", {}, "!has(object.spec.hostNetwork) || !object.spec.hostNetwork || !('net-NUMBER' in object.metadata.labels)"),
)
Commands = dict[str, tuple[list[str], int]]


@dataclass(frozen=True)
class Job:
    """A job in its own text."""

    text: str

    @property
    def document(self) -> Document:
        (document,), _ = read(self.text, file="")
        return document

    def named(self, name: str) -> str:
        """The text with another name for the job."""
        mark = self.document.marks.nearest(("metadata", "name")).mark
        lines = self.text.split("\n")
        line = lines[mark.line - 1]
        lines[mark.line - 1] = line[: mark.column - 1] + name + line[mark.end_column - 1 :]
        return "\n".join(lines)

    def with_mistake(self) -> "Job":
        """The job with an unknown field at its top."""
        return Job(f"metdata: {{}}\n{self.text}")

    def with_misspelling(self) -> "Job":
        """The job with a misspelt field, which `--fix` fixes."""
        return Job(f"\n{self.text}".replace("\nspec:", "\nspecs:", 1).removeprefix("\n"))


def guides() -> list[Job]:
    return [Job((GUIDES / name).read_text()) for name in ("simple.yaml", "trainjob.yaml")]


def public(manifests: Path) -> Iterator[Job]:
    """Each job of the folder that has a name and stands in block style, once."""
    texts = set()
    for path in sorted(manifests.rglob("*.y*ml")):
        for text, _ in cut(path.read_text()):
            documents, problems = read(text.removeprefix("---\n"), file="")
            if [each.kind in PLACES and bool(each.name) for each in documents] == [True] and not problems and "\n{" not in f"\n{text}":
                texts.add(text.removeprefix("---\n"))
    yield from map(Job, sorted(texts))


def accepted(jobs: list[Job], commands: list[list[str]], folder: Path) -> list[Job]:
    """The jobs that all commands accept, each asked about a file of its own."""
    folder.mkdir()

    def is_accepted(number: int, job: Job) -> bool:
        path = folder / f"{number}.yaml"
        path.write_text(job.named("job"))
        return all(subprocess.run([*command, path], capture_output=True, check=False).returncode == 0 for command in commands)

    return [job for number, job in enumerate(jobs) if is_accepted(number, job)]


def newest(component: str) -> str:
    return list(RELEASES[component])[-1]


def schemas(crds: Path | None, folder: Path) -> str:
    """A folder of schemas for kubeconform, as its `--schema-location`."""
    folder.mkdir()
    for kind, (component, group, name) in PLACES.items():
        if crds is None:
            shutil.copy(ROOT / "schemas" / f"{component}-{newest(component)}" / group / f"{name}.json", folder)
        else:
            (crd,) = crds.glob(f"{kind.lower()}s.{group}@v{newest(component)}.yaml")
            (folder / f"{name}.json").write_text(json.dumps(converted(yaml.safe_load(crd.read_text()))))
    return f"{folder}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"


def converted(crd: dict[str, Any]) -> dict[str, Any]:
    """A CRD's schema, closed to unknown fields as the usual converters do."""
    (version,) = crd["spec"]["versions"]
    root: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    metadata = root["properties"].pop("metadata")
    close(root)
    root["properties"]["metadata"] = metadata
    return root


def close(node: Any) -> None:
    """Refuse unknown fields everywhere below."""
    if isinstance(node, dict):
        if "properties" in node and node.get("type") == "object":
            node.setdefault("additionalProperties", False)
        for child in node.values():
            close(child)


def write_many(folder: Path, jobs: list[Job]) -> Path:
    """As many files, each one of the jobs under a name of its own."""
    folder.mkdir()
    for number in range(NUMBER):
        (folder / f"{number}.yaml").write_text(jobs[number % len(jobs)].named(f"job-{number}"))
    return folder


def write_small(folder: Path) -> Path:
    """Write many small files, each with the same three findings."""
    folder.mkdir()
    for number in range(SMALL):
        (folder / f"{number}.yaml").write_text(WITH_FINDINGS.replace("NUMBER", str(number)))
    return folder


def compare_with_before(before: Path | None, programs: Path, many: Path, small: Path, runs: int) -> None:
    """Measure the code of another commit, if it is given, and this one, on the same files."""
    for words, path, code in (("validate --no-outcome", many, 0), ("validate", many, 0), ("lint", many, 0), ("lint", small, 1)):
        own = [*words.split(), str(path)]
        other = ["env", f"PYTHONPATH={before and before.resolve()}", str(programs / "python"), "-P", "-m", "jobspec"]
        commands: Commands = {"before": ([*other, *own], code)} if before else {}
        compare(f"{words}, the folder `{path.name}`", commands | {"jobspec": ([str(programs / "jobspec"), *own], code)}, runs)


def write_behind_policies(folder: Path, jobs: list[Job]) -> Path:
    """Jobs, each in a file, and policies that match all of them, or all of their pods."""
    folder.mkdir()
    for number in range(BEHIND_POLICIES):
        (folder / f"{number}.yaml").write_text(jobs[number % len(jobs)].named(f"job-{number}"))
    written = [each for number in range(POLICIES) for each in policy_with_binding(number)]
    (folder / "policies.yaml").write_text(yaml.safe_dump_all(written))
    return folder


def policy_with_binding(number: int) -> Iterator[dict[str, Any]]:
    """One of the policies, and the binding that puts it in force."""
    which, variables, expression = RULES[number % len(RULES)]
    resources = ["pods"] if which == "pods" else ["pytorchjobs", "trainjobs"]
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": resources}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": name, "expression": text} for name, text in variables.items()],
        "validations": [{"expression": expression.replace("NUMBER", str(number)), "message": f"refused by rule {number}"}],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": f"policy-{number}"}}
    yield {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec}
    binding = {"policyName": f"policy-{number}", "validationActions": ["Deny"]}
    yield {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding}


def write_kustomization(folder: Path, job: Path) -> Path:
    """A folder from which kustomize renders a job with two patches."""
    folder.mkdir()
    shutil.copy(job, folder / "job.yaml")
    patches = [{"target": {"kind": "PyTorchJob"}, "patch": patch} for patch in PATCHES]
    (folder / "kustomization.yaml").write_text(json.dumps({"resources": ["job.yaml"], "patches": patches}))
    return folder


def write_project(folder: Path, jobs: list[Job], number: int) -> Path:
    """A project of as many variants of the jobs: in a namespace, with a label of their own, out of the mesh."""
    (folder / "base").mkdir(parents=True)
    variants = []
    for index, job in enumerate(jobs):
        (folder / "base" / f"{index}.yaml").write_text(job.named("job"))
        seeds = list(range(index, number, len(jobs)))
        labels = {"seed": "${seed}"}
        variants.append({"name": "v-${seed}", "base": f"base/{index}.yaml", "matrix": {"seed": seeds}, "labels": labels})
    defaults = {"namespace": "ml", "overlays": ["istio-off"]}
    project = {"apiVersion": "jobspec.dev/v1alpha1", "kind": "Project", "spec": {"defaults": defaults, "variants": variants}}
    (folder / "jobspec.yaml").write_text(yaml.safe_dump(project))
    return folder / "jobspec.yaml"


def write_overlays(folder: Path, jobs: list[Job]) -> Path:
    """The same variants for kustomize: a folder for each in `all`, whose kustomization lists them."""
    for index, job in enumerate(jobs):
        base = folder / "base" / str(index)
        base.mkdir(parents=True)
        (base / "job.yaml").write_text(job.named("job"))
        (base / "kustomization.yaml").write_text(json.dumps({"resources": ["job.yaml"]}))
    for number in range(VARIANTS):
        here = folder / "all" / f"v-{number}"
        here.mkdir(parents=True)
        data = jobs[number % len(jobs)].document.data
        roles = data["spec"]["pytorchReplicaSpecs"]
        sidecar = {"template": {"metadata": {"annotations": {"sidecar.istio.io/inject": "false"}}}}
        metadata = {"name": "job", "labels": {"seed": str(number)}}
        patch = {
            "apiVersion": data["apiVersion"],
            "kind": data["kind"],
            "metadata": metadata,
            "spec": {"pytorchReplicaSpecs": dict.fromkeys(roles, sidecar)},
        }
        said = {
            "resources": [f"../../base/{number % len(jobs)}"],
            "namespace": "ml",
            "nameSuffix": f"-{number}",
            "patches": [{"target": {"kind": "PyTorchJob"}, "patch": json.dumps(patch)}],
        }
        (here / "kustomization.yaml").write_text(json.dumps(said))
    (folder / "all" / "kustomization.yaml").write_text(json.dumps({"resources": [f"v-{number}" for number in range(VARIANTS)]}))
    return folder / "all"


def write_large(folder: Path) -> Iterator[Path]:
    """A job of each kind with a thousand nodes."""
    folder.mkdir()
    for job in guides():
        data = job.document.data
        if job.document.kind == "PyTorchJob":
            data["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = NODES - 1
        else:
            data["spec"]["trainer"]["numNodes"] = NODES
        path = folder / f"{job.document.kind}.json"
        path.write_text(json.dumps(data))
        yield path


def on_two_processors() -> None:
    """Keep this process and those that it starts to two processors."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def bases(jobs: list[Job], jobspec: str, folder: Path) -> list[Job]:
    """The PyTorchJobs of which a project of one variant can be rendered."""
    found = []
    for index, job in enumerate(each for each in jobs if each.document.kind == "PyTorchJob"):
        project = write_project(folder / str(index), [job], 1)
        if subprocess.run([jobspec, "render", project], capture_output=True, check=False).returncode == 0:
            found.append(job)
    return found


def compare_projects(jobs: list[Job], jobspec: str, kubectl: str | None, folder: Path, runs: int) -> None:
    """A project of many variants, beside kustomize on one of them and on all."""
    different = bases(jobs, jobspec, folder / "bases")
    project = write_project(folder / "project", different, VARIANTS)
    commands: Commands = {}
    if kubectl:
        overlays = write_overlays(folder / "overlays", different)
        commands["kubectl, one of them"] = [kubectl, "kustomize", str(overlays / "v-0")], 0
        commands["kubectl, all of them"] = [kubectl, "kustomize", str(overlays)], 0
    render = [jobspec, "render", str(project)]
    commands |= {"jobspec, first time": (render, 0), "jobspec, one changed": (render, 0), "jobspec, unchanged": (render, 0)}
    commands["jobspec --check"] = [*render, "--check"], 0
    rendered, text, numbers = project.parent / "rendered", project.read_text(), count()

    def set_aside() -> None:
        if rendered.exists():
            rendered.rename(folder / f"rendered-{next(numbers)}")

    def change_one() -> None:
        project.write_text(f"{text}  - {{name: changed, base: base/0.yaml, labels: {{number: n{next(numbers)}}}}}\n")

    title = f"{VARIANTS:,} variants of {len(different)} base{'s' if len(different) > 1 else ''} on two processors"
    compare(title, commands, runs, first={"jobspec, first time": set_aside, "jobspec, one changed": change_one})


def compare_repositories(jobs: list[Job], jobspec: str, kubectl: str | None, folder: Path, runs: int) -> None:
    """What one of many overlays of a repository changes, beside kustomize on that overlay before and after, which needs kubectl."""
    if not kubectl:
        return
    job = next(each for each in jobs if each.document.kind == "PyTorchJob")
    files = {"base/job.yaml": job.named("job"), "base/kustomization.yaml": "resources: [job.yaml]\n"}
    for number in range(MANY_OVERLAYS):
        here = f"overlays/v-{number}"
        patch = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "job", "labels": {"seed": "0"}}}
        said = {"resources": ["../../base"], "nameSuffix": f"-v{number}", "patches": [{"path": "patch.yaml"}]}
        files |= {f"{here}/kustomization.yaml": json.dumps(said), f"{here}/patch.yaml": json.dumps(patch)}
    repository, numbers = committed(folder, files), count(1)
    patch_of_one = repository / "overlays" / "v-7" / "patch.yaml"
    text = patch_of_one.read_text()

    def change_one() -> None:
        patch_of_one.write_text(text.replace('"seed": "0"', f'"seed": "{next(numbers)}"'))

    build = f"{kubectl} kustomize {patch_of_one.parent}"
    commands: Commands = {
        "kubectl, twice": (["sh", "-c", f"{build} && {build}"], 0),
        "jobspec diff": (["sh", "-c", f"cd {repository} && {jobspec} diff"], 0),
    }
    compare(f"a change of one of {MANY_OVERLAYS} overlays", commands, runs, first={"jobspec diff": change_one})


def installed(folder: Path) -> Path:
    """The programs of a fresh virtual environment with jobspec in it, by the newest pip: older ones have them load `re` for their names."""
    venv.create(folder, with_pip=True, upgrade_deps=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", ROOT], check=True)
    return folder / "bin"


def measured(command: list[str], code: int) -> tuple[float, float, float]:
    """Wall and processor time in seconds of one whole process, which ends with *code*, and the memory of its largest process in MB."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        taken = time.perf_counter() - started
        output.seek(0)
        assert process.returncode == code, (command, output.read()[-1000:])
    return taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def compare(title: str, commands: Commands, runs: int, *, first: Mapping[str, Callable[[], None]] | None = None) -> None:
    """Run the commands in turn, round by round, and print medians and ratios to the first; *first*: what is done before some of them."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, (command, code) in commands.items():
            if first and name in first:
                first[name]()
            one = measured(command, code)
            if number:  # the first round warms the file cache
                found[name].append(one)
    print(f"{title}, {runs} rounds")
    peer, *_ = commands
    for name, rounds in found.items():
        wall, processor, memory = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratio, ratio_of_processor = (
            statistics.median(one[column] / other[column] for one, other in zip(rounds, found[peer], strict=True)) for column in (0, 1)
        )
        print(f"  {name:20} {wall * 1000:7.1f} ms, {ratio:.2f} of {peer}; ", end="")
        print(f"processor {processor * 1000:7.1f} ms, {ratio_of_processor:.2f}; {memory:3.0f} MB")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifests", type=Path, help="a folder of public manifests, the jobs in which are measured instead of our guides")
    for name in ("kubeconform", "kustomize", "kubectl"):
        parser.add_argument(f"--{name}", default=shutil.which(name), help="the program, found on PATH by default")
    parser.add_argument("--crds", type=Path, help="a folder of upstream's CRDs, named PLURAL.GROUP@vRELEASE.yaml")
    parser.add_argument("--before", type=Path, help="a checkout of another commit, whose code is measured on the same files")
    parser.add_argument("--runs", type=int, default=20)
    return parser.parse_args()


def main() -> None:
    """Measure a cold start on one job of each kind, on many files, sound and broken, a render with two overlays, and a project."""
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = installed(folder / "venv")
        jobspec = [str(programs / "jobspec"), "validate"]
        bare: Commands = {"python": ([str(programs / "python"), "-c", "pass"], 0)}
        peer = [options.kubeconform, "-schema-location", schemas(options.crds, folder / "schemas")] if options.kubeconform else []
        both = [peer, jobspec] if peer else [jobspec]
        jobs = accepted(list(public(options.manifests)), both, folder / "accepted") if options.manifests else guides()
        print(f"{len(jobs)} different jobs")

        def against_peer(path: Path, code: int = 0) -> Commands:
            return ({"kubeconform": ([*peer, str(path)], code)} if peer else {}) | {"jobspec": ([*jobspec, str(path)], code)}

        def with_outcomes(path: Path) -> Commands:
            return {"jobspec --no-outcome": ([*jobspec, "--no-outcome", str(path)], 0), "jobspec": ([*jobspec, str(path)], 0)}

        def expanded(path: Path) -> Commands:
            return bare | {"jobspec expand": ([jobspec[0], "expand", str(path)], 0)}

        def with_lint(path: Path) -> Commands:
            return {"jobspec validate": ([*jobspec, str(path)], 0), "jobspec lint": ([jobspec[0], "lint", str(path)], 0)}

        def with_fixes(path: Path) -> Commands:
            """What `lint --fix` would fix is shown, so that every round finds the same files."""
            return {
                "jobspec lint": ([jobspec[0], "lint", str(path)], 1),
                "jobspec lint --diff": ([jobspec[0], "lint", "--diff", str(path)], 1),
            }

        expandable = accepted(jobs, [[jobspec[0], "expand"]], folder / "expandable")
        for kind in PLACES:
            texts = sorted((job.text for job in expandable if job.document.kind == kind), key=len)
            path = folder / f"{kind}.yaml"
            path.write_text(texts[len(texts) // 2])
            compare(f"one {kind}, cold", against_peer(path) | bare, options.runs)
            compare(f"one {kind}, cold, with outcomes", with_outcomes(path), options.runs)
            compare(f"one {kind}, cold, expanded", expanded(path), options.runs)
            compare(f"one {kind}, cold, with lint", with_lint(path), options.runs)
        few = max(options.runs // 4, 3)
        many = write_many(folder / "many", jobs)
        broken = write_many(folder / "broken", [job.with_mistake() for job in jobs])
        compare(f"{NUMBER:,} files", against_peer(many), few)
        compare(f"{NUMBER:,} files, with outcomes", with_outcomes(many), few)
        compare_with_before(options.before, programs, many, write_small(folder / "small"), few)
        for path in write_large(folder / "large"):
            compare(f"one {path.stem} of {NODES:,} nodes, expanded", expanded(path), few)
        compare(f"{NUMBER:,} files, with lint", with_lint(many), few)
        behind = write_behind_policies(folder / "behind-policies", jobs)
        compare(f"{BEHIND_POLICIES} jobs behind {POLICIES} policies", with_outcomes(behind), few)
        misspelt = write_many(folder / "misspelt", [job.with_misspelling() for job in jobs])
        compare(f"{NUMBER:,} files with one mistake to fix in each", with_fixes(misspelt), few)
        sound: Commands = {"jobspec, no error": ([*jobspec, str(many)], 0)}
        compare(f"{NUMBER:,} files with one error in each", against_peer(broken, 1) | sound, few)
        job = GUIDES / "simple.yaml"
        render = [str(programs / "jobspec"), "render", str(job), *(word for name in OVERLAYS for word in ("--overlay", name))]
        build: Commands = {}
        if options.kustomize:
            build["kustomize"] = [options.kustomize, "build", str(write_kustomization(folder / "kustomization", job))], 0
        if peer:
            build["kubeconform"] = [*peer, str(job)], 0
        compare("render with two overlays", {**build, "jobspec": (render, 0)}, options.runs)
        compare_repositories(jobs, str(programs / "jobspec"), options.kubectl, folder / "repository", few)
        on_two_processors()
        compare_projects(jobs, str(programs / "jobspec"), options.kubectl, folder / "projects", few)


if __name__ == "__main__":
    main()
