"""The command lines that are compared, each in a folder of the inputs."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random

from tests.support.manifests import JOB
from tests.support.processes import run_here

_REPORTS = ("text", "json", "sarif", "junit", "github")
_TARGETS = (
    "--target training-operator=1.7 --target trainer=2.0 --target kubernetes=1.30",
    "--target training-operator=1.8 --target trainer=2.1 --target kubernetes=1.33",
    "--target training-operator=1.9.0 --target trainer=2.2",
    "--target jobset=0.8",
)
_OVERLAYS = (
    "--overlay cpu",
    "--overlay gpu-nccl --set gpu-nccl.gpus=4",
    "--overlay istio-off --overlay pvc-output",
    "--overlay cpu --overlay istio-off --overlay pvc-output",
)
_OF_CHECKS = (
    *("--skip-unknown", "--no-admission", "--closed-world", "--markdown", "--fix --diff", "--fail-on warning", "--fail-on info"),
    *("--select decoding,schema --ignore unknown-field", *_TARGETS, *_OVERLAYS),
)
_SUFFIXES = (".yaml", ".yml", ".json")
_JOB = re.compile(r"""^["' {-]*kind["']?: *["']?(PyTorchJob|TrainJob)\b""", re.MULTILINE)
_FIXED = ("cases/fixes", "cases/lint", "cases/lint-fixed", "cases/validate", "cases/outcome", "random/broken")
_KINDS = ("PyTorchJob", "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "JobSet", "Pod", "Job", "Deployment", "Service")
_MORE_KINDS = ("PersistentVolumeClaim", "CustomResourceDefinition", "ResourceQuota", "Overlay", "Project", "Prices", "Secret", "CronJob")


@dataclass(frozen=True)
class Run:
    """A command line and what it meets; one that writes gets a copy of its folder."""

    arguments: tuple[str, ...]
    folder: str
    stdin: str
    environment: Mapping[str, str]
    writes: bool


def run(line: str, folder: str | Path = ".", *, stdin: str = "", colour: bool = False, writes: bool = False) -> Run:
    """A command line whose arguments have no blanks."""
    return Run(tuple(line.split()), str(folder), stdin, {"FORCE_COLOR": "1"} if colour else {}, writes)


@dataclass(frozen=True)
class Manifest:
    """A file among the inputs."""

    path: Path
    text: str = field(repr=False)

    @property
    def target(self) -> str:
        """The releases that a case names in its first line, as options."""
        named = re.match(r"# target: (.*)", self.text)
        return " ".join(f"--target {each}" for each in (named[1].split() if named else ()))

    @property
    def jobs(self) -> set[str]:
        return set(_JOB.findall(self.text))


def command_lines(place: Path, seed: int) -> Iterator[Run]:
    """All command lines over the inputs in a folder; the seed chooses where not all are taken."""
    paths = [path for part in ("cases", "corpus", "ignored", "random") for path in sorted((place / part).rglob("*.*"))]
    files = [Manifest(path.relative_to(place), path.read_text(errors="replace")) for path in paths if path.suffix in _SUFFIXES]
    yield from _of_folders(place, sorted({str(each.path.parent) for each in files if each.path.parts[0] != "corpus"}))
    for number, each in enumerate(files):
        yield from _of_file(each, number)
        if each.jobs:
            yield from _of_job(each, number)
            yield from _migrations(each, number)
    yield from _of_cases(place)
    yield from _of_brought_along(place)
    for folder in sorted((place / "wrong-projects").iterdir()):
        yield from _of_wrong_project(folder.relative_to(place))
    for folder in sorted((place / "projects").iterdir()):
        yield from _of_project(folder.relative_to(place), sorted(path.relative_to(folder) for path in folder.glob("rendered/*/*-*.yaml")))
    yield from _explanations(Random(seed))
    yield from _schemas()
    yield from _mistakes()
    yield from _others()


def _of_folders(place: Path, folders: Iterable[str]) -> Iterator[Run]:
    """Whole folders: in every format, with every option of a check, and changed where they stand."""
    public = [each for each in ("corpus/manifests", "corpus/companions", "corpus/broken", "pages") if (place / each).exists()]
    for number, folder in enumerate([*public, *folders]):
        for report in _REPORTS:
            if folder in public or report in ("json", _REPORTS[number % len(_REPORTS)]):
                yield run(f"validate {folder} -o {report}")
                yield run(f"lint {folder} -o {report}")
        yield run(f"expand {folder} --skip-unknown")
        yield run(f"render {folder} --skip-unknown")
    for command, folder in product(("validate", "lint"), ("cases", "random")):
        yield run(f"{command} {folder} -o json")
    for folder, (number, options) in product([*public, "cases/admission", "random/jobs", "random/trainjobs"], enumerate(_OF_CHECKS)):
        report = "" if "--diff" in options else f"-o {_REPORTS[number % 2]}"
        yield run(f"{('lint', 'validate')[number % 3 > 0]} {folder} {options} {report}")
    for folder in ("cases/validate", "corpus", "random/mutants"):
        yield run(f"validate random/mutants --from {folder} -o json")
        yield run(f"validate random/jobs --from {folder}")
    for folder in ("cases/guides", "pages", "random/mutants", "random/jobs", "random/policies", "random/workloads"):
        yield run("validate . --fix --markdown", folder, writes=True)
        yield run("lint . --fix --markdown", folder, writes=True)
    for folder, to in product(("cases/guides", "random/pytorchjobs", "random/trainjobs"), ("TrainJob", "trainer=2.3 --target trainer=2.0")):
        yield run(f"migrate . --to {to} --skip-unknown --in-place", folder, writes=True)
        yield run(f"migrate . --to {to} --skip-unknown --to-dir out", folder, writes=True)
        yield run(f"migrate {folder} --to {to} --diff -o markdown")
    yield run("lint cases/guides", colour=True)
    yield run("validate cases/outcome", colour=True)


def _of_file(file: Manifest, number: int) -> Iterator[Run]:
    """Each file by itself, as users name it."""
    yield run(f"validate {file.path} {file.target}")
    yield run(f"validate {file.path} {file.target} -o json")
    yield run(f"lint {file.path} {file.target} -o {_REPORTS[number % 5]}")
    if number % 3 == 0:
        yield run(f"validate {file.path} {_TARGETS[number % len(_TARGETS)]} --closed-world -o json")
        yield run(f"validate {file.path} {file.target} --fix --diff")
        yield run(f"validate {file.path} {file.target} --no-admission --no-outcome")
    if str(file.path.parent) in _FIXED:
        yield run(f"lint {file.path} {file.target} --fix --diff")
        for command in ("validate", "lint"):
            yield run(f"{command} {file.path.name} {file.target} --fix", file.path.parent, writes=True)


def _of_job(file: Manifest, number: int) -> Iterator[Run]:
    """What is made of the jobs in a file."""
    overlays, target = _OVERLAYS[number % len(_OVERLAYS)], file.target or _TARGETS[number % len(_TARGETS)]
    yield run(f"expand {file.path} {file.target} --origin")
    yield run(f"expand {file.path} {target} -o json --defaults")
    yield run(f"expand {file.path} {file.target} -o table {overlays}")
    yield run(f"render {file.path} {target}")
    yield run(f"render {file.path} {file.target} {overlays}")
    yield run(f"render {file.path} {overlays} -o json")
    yield run(f"validate {file.path} {file.target} {overlays}")
    if number % 3 == 0:
        yield run(f"expand {file.path} {file.target} --gang-scheduler {('volcano', 'scheduler-plugins')[number % 2]}")
        yield run(f"lint {file.path} {file.target} {overlays} -o json")
    if file.path.parts[1] in ("guides", "outcome", "jobs", "manifests"):
        yield run(f"import ../{file.path} --preview", "to-import")
        yield run(f"import {file.path.name}", file.path.parent, writes=True)


def _migrations(file: Manifest, number: int) -> Iterator[Run]:
    report = (*_REPORTS, "markdown")[number % 6]
    if "PyTorchJob" in file.jobs:
        yield run(f"migrate {file.path} --to TrainJob -o {report}")
        yield run(f"migrate {file.path} --to TrainJob --diff --target trainer=2.{number % 4}")
    if "TrainJob" in file.jobs:
        old, new = ((0, 3), (3, 0), (1, 2), (2, 1), (0, 1))[number % 5]
        yield run(f"migrate {file.path} --to trainer=2.{new} --target trainer=2.{old} -o {report}")
    if number % 7 == 0:
        yield run(f"migrate {file.path} --to TrainJob --strict --gang-scheduler volcano")
    if named := re.match(r"# jobspec migrate (.*)", file.text):
        for more in ("", "--diff", "-o json", "--in-place"):
            yield run(f"migrate {file.path.name} {named[1]} {more}", file.path.parent, writes=more == "--in-place")


def _of_cases(place: Path) -> Iterator[Run]:
    """Cases of overlays, of updates and of what hunts found, with the options that they are about."""
    for folder in sorted((place / "overlays").iterdir()):
        at = folder.relative_to(place)
        words = [word for path in sorted(folder.glob("*.yaml")) if path.stem != "base" for word in ("--overlay", path.name)]
        words += [word for line in _lines(folder / "set") for word in ("--set", line.partition(" # ~ ")[0])]
        words += [word for line in _lines(folder / "target") for each in line.split() for word in ("--target", each)]
        for command in ("render", "validate", "lint", "expand"):
            yield Run((command, "base.yaml", *words), str(at), "", {}, writes=False)
        yield Run(("render", "base.yaml", *words, "--to", "out"), str(at), "", {}, writes=True)
    for folder in sorted((place / "updates").iterdir()):
        case = Manifest(folder, (place / "cases" / "updates" / f"{folder.name}.yaml").read_text())
        for report in _REPORTS:
            yield run(f"validate after.yaml --from before.yaml {case.target} -o {report}", folder.relative_to(place))
    for folder in sorted((place / "found").iterdir()):
        crd, stored = (option if (folder / option.split()[1]).exists() else "" for option in ("--crd crd.yaml", "--from stored.yaml"))
        yield run(f"validate manifest.yaml {crd} {stored}", folder.relative_to(place))
    for folder in ("kustomized", "repository", "repository/jobs"):
        yield run(f"lint {folder} -o json", "cases/lint")
    yield run("validate cases/outcome --closed-world cases/policies -o json")
    yield run("lint cases/lint --baseline baseline.json")
    yield run("lint cases/lint/repository cases/guides --baseline baseline.json -o json")
    yield run("lint . --write-baseline all.json", "cases/lint", writes=True)
    yield run("validate . -o json --output-file report.json", "cases/validate", writes=True)


def _lines(path: Path) -> list[str]:
    return list(filter(None, path.read_text().splitlines())) if path.exists() else []


def _of_brought_along(place: Path) -> Iterator[Run]:
    """CRDs, JSON Schemas, contracts and settings of the user."""
    for path in sorted((place / "cases").glob("crd*/*.yaml")):
        yield run(f"validate {path.name} --crd {path.name} -o json", path.parent.relative_to(place))
        yield run(f"validate {path.name}", path.parent.relative_to(place))
    for path in sorted(place.glob("crds/*.yaml")):
        yield run(f"validate crds/{path.name}")
        yield run(f"validate cases/outcome/plain.yaml cases/admission --crd crds/{path.name} -o json")
    yield run("validate random/mutants --crd crds")
    for options in ("--schema-location .", "--schema-location {{.ResourceKind}}.json", "--crd none.yaml", "--crd things.yaml", ""):
        yield run(f"validate things.yaml {options}", "settings")
    for command, options in product(
        ("validate", "lint"), ("", "-o json", "--ignore schema", "--fail-on error", "--contract a.example/b=contract.json")
    ):
        yield run(f"{command} job.yaml {options}", "settings")
        yield run(f"{command} . {options}", "settings")
    yield run("render", "settings", writes=True)
    yield run("lint cases/guides random/jobs --contract example.com/train=trainer --contract train=settings/contract.json")


def _of_wrong_project(folder: Path) -> Iterator[Run]:
    yield run("render", folder, writes=True)
    for line in ("validate jobspec.yaml", "lint jobspec.yaml -o json", "diff", "blame jobspec.yaml", "render --check"):
        yield run(line, folder)


def _of_project(folder: Path, rendered: Iterable[Path]) -> Iterator[Run]:
    """What a project renders to, what a change does, where values come from."""
    for command, report in product(("validate", "lint"), ("text", "json")):
        yield run(f"{command} {'.' if report == 'json' else 'rendered'} -o {report}", folder)
        yield run(f"{command} jobspec.yaml -o {report}", folder)
    for options in ("", "--check", "--diff", "--only a", "--only p -o json", "jobspec.yaml -o sarif", "--to elsewhere"):
        yield run(f"render {options}", folder, writes=True)
    for options in (
        "",
        "-o json",
        "-o markdown",
        "--exit-code",
        "none",
        *(f"--prices ../../prices.yaml -o {each}" for each in ("text", "json", "markdown")),
    ):
        yield run(f"diff {options}", folder)
    for number, path in enumerate(rendered):
        for options in (".", "-o json", *(("metadata.name", "metadata -o json", "spec.nothing", "spec") if number == 0 else ())):
            yield run(f"blame {path} {options}", folder)
    yield run("expand rendered", folder)
    yield run("validate . --from-ref HEAD -o json", folder)
    yield run("import rendered --preview --to imported", folder)
    yield run("migrate jobspec.yaml --to TrainJob --diff", folder)
    yield run("migrate jobspec.yaml --to TrainJob --in-place", folder, writes=True)
    yield run("migrate jobspec.yaml --to trainer=2.3 --target trainer=2.0 --diff", folder)


def _explanations(random: Random) -> Iterator[Run]:
    for options in ("", "--markdown", "--recursive", "--markdown missing-field"):
        yield run(f"explain {options}")
    for line in run_here("explain").stdout.splitlines():
        yield run(f"explain {line.split()[0]}")
    for kind in (*_KINDS, *_MORE_KINDS):
        paths = list(_paths(kind, run_here("explain", kind, "--recursive").stdout))
        for target in ("", *_TARGETS):
            yield run(f"explain {kind} --recursive {target}")
        for path in [kind, f"{kind}.nothing", *random.sample(paths, min(len(paths), 60 if kind in _KINDS else 15))]:
            yield run(f"explain {path}")
            yield run(f"explain {path} {random.choice(_TARGETS)}")


def _paths(kind: str, listed: str) -> Iterator[str]:
    """The fields in the output of `explain --recursive`, in which each level is indented by two spaces."""
    steps: list[str] = []
    for line in filter(str.strip, listed.splitlines()):
        steps = [*steps[: (len(line) - len(line.lstrip())) // 2], line.split()[0]]
        yield ".".join([kind, *steps])


def _schemas() -> Iterator[Run]:
    for line in ("crd --all", "crd --all -o json", "kustomize", "check", "check none", "kubernetes 1.36=none"):
        yield run(f"schema {line}")
    for kind, target in product(("PyTorchJob", "trainjob", "JobSet", "none"), ("", *_TARGETS)):
        yield run(f"schema crd {kind} {target}")
    yield run("schema export out", "to-import", writes=True)


def _mistakes() -> Iterator[Run]:
    """Help, and command lines with a mistake."""
    listed = run_here("--help").stdout.partition("commands:")[2].partition("exit codes")[0]
    for line in ("", "--help", "--version", "none", "--none"):
        yield run(line)
    for command in (
        *re.findall(r"^  (\S+) ", listed, re.MULTILINE),
        *(f"schema {each}" for each in ("crd", "kustomize", "export", "check")),
    ):
        yield run(f"{command} --help")
        yield run(f"{command} --none")
    for command in ("validate", "lint", "render", "expand", "import", "run", "blame", "explain", "completion"):
        yield run(command)
        yield run(f"{command} none.yaml")
    of_all = (
        "--overlay none",
        "--target trainer=9",
        "--target none=1",
        "--target trainer",
        "-o none",
        "--set a.b=c",
        "--overlay cpu --set cpu.none=1",
    )
    of_checks = (
        "--select none",
        "--ignore none",
        "--fail-on none",
        "--baseline none",
        "--crd none",
        "--schema-location none",
        "--contract a",
        "--diff",
    )
    of_updates = ("--from none", "--from-ref none", "--from . --from-ref HEAD", "--output-file none/report.txt")
    of_migrations = ("", "--to none", "--to trainer=9", "--to TrainJob --in-place --diff", "--to TrainJob --in-place --to-dir out")
    of_runs = ("--kill none", "--kill none@1s", "--command none-such-program", "--overlay none")
    yield from (
        run(f"{command} mnist.yaml {options}", "to-import") for command in ("validate", "lint", "render", "expand") for options in of_all
    )
    yield from (run(f"validate mnist.yaml {options}", "to-import") for options in (*of_checks, *of_updates))
    yield from (run(f"migrate mnist.yaml {options}", "to-import") for options in of_migrations)
    yield from (run(f"run mnist.yaml {options}", "to-import") for options in of_runs)


def _others() -> Iterator[Run]:
    """Standard input, completion, new repositories, and jobs of one pod on this machine."""
    for text, command in product(
        (JOB, JOB.replace("image", "imag"), "", "a: [", "\0"), ("validate", "lint", "render", "expand", "migrate --to TrainJob")
    ):
        yield run(f"{command} -", "to-import", stdin=text)
    for line in ("import -", "import mnist.yaml --target training-operator=1.8", "import mnist.yaml --to elsewhere"):
        yield run(line, "to-import", stdin=JOB, writes=True)
    for shell in ("bash", "zsh", "fish"):
        yield run(f"completion {shell}")
    for kind, engine in product(("PyTorchJob", "TrainJob"), ("argocd", "flux")):
        yield run(f"init --kind {kind} --engine {engine} new", "to-import", writes=True)
    yield run("init --name other --namespace ml --repository https://git.example/a.git", "to-import", writes=True)
    yield run("init", "projects/init-0", writes=True)
    yield run("init --checks", "projects/init-0", writes=True)
    for program in ("true", "false", "echo"):
        yield run(f"run mnist.yaml --command {program}", "to-import")
    yield run("run cases/validate/unknown-field.yaml")
    yield run("run cases/guides")
