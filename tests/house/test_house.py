"""How the house is built: imports go one way, and nothing heavy stands at the door."""

import ast
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import ascii_lowercase

import pytest

from jobspec.diagnostics.explanations import RULES
from jobspec.lint.catalogue import ADMISSION, rules
from jobspec.lint.topics import every_rule
from tests.support.processes import python
from tests.support.reference import ROOT

PACKAGE = ROOT / "jobspec"

#: The rooms: one imports those above it in this list. A folder stands for all its modules, which import each other in no circle.
ORDER = [
    "jobspec",
    "jobspec.diagnostics",
    "jobspec.apis",
    "jobspec.models",
    "jobspec.schemas",
    "jobspec.documents",
    "jobspec.go",
    "jobspec.kubernetes",
    "jobspec.programs",
    "jobspec.operators",
    "jobspec.repository",
    "jobspec.world",
    "jobspec.overlays",
    "jobspec.outcome",
    "jobspec.journey",
    "jobspec.lint",
    "jobspec.policies",
    "jobspec.project",
    "jobspec.run",
    "jobspec.captures",
    "jobspec.migrate",
    "jobspec.reports",
    "jobspec.server",
    "jobspec.session",
    "jobspec.api",
    "jobspec.editor",
    "jobspec.commands",
    "jobspec.cli",
    "jobspec.__main__",
]


@pytest.fixture(scope="module", autouse=True)
def _memory() -> Iterator[None]:
    """What these tests keep is a lot, which every process that later tests fork would get, too."""
    yield
    _nodes.cache_clear()
    _tree.cache_clear()


@cache
def _modules() -> list[tuple[str, Path]]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return [(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path) for path in paths]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """Everything that a module's code consists of."""
    return list(ast.walk(_tree(path)))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements inside a module or a statement, all the way down."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            yield child
            yield from _statements(child)


def _dotted(node: ast.AST) -> str:
    """A name, or the attribute of a name, as it is written; empty of anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
    return ""


@cache
def _imports(path: Path) -> list[str]:
    names = dict(_modules())
    found = []
    for node in _statements(_tree(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [each if each in names else node.module for each in full]
    return found


@cache
def _room(module: str) -> str:
    return max((each for each in ORDER if module == each or (each != "jobspec" and module.startswith(each + "."))), key=len)


def test_rooms_import_one_way() -> None:
    upwards = [
        f"{module} imports {imported}"
        for module, path in _modules()
        if module != "jobspec"  # which only names, for type checkers, what it loads when asked
        for imported in _imports(path)
        if imported.startswith("jobspec") and ORDER.index(_room(imported)) > ORDER.index(_room(module))
    ]
    assert upwards == []


def test_contributing_names_each_room() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("### Where code is")[2].partition("### Where tests are")[0]
    assert section, "CONTRIBUTING.md has no section `Where code is`"
    named = set(re.findall(r"`([a-z_/]+(?:/|\.py))`", section)) - {"tests/house/test_house.py"}
    assert [name for name in named if not (PACKAGE / name).exists() and not any(PACKAGE.glob(f"*/{name}"))] == []
    rooms = [f"{each.parent.name}/" for each in sorted(PACKAGE.glob("*/**/__init__.py"))]
    context = [each.name for each in sorted(PACKAGE.glob("*.py")) if not each.name.startswith("__")]
    last = {re.sub(r".*/(?=.)", "", name) for name in named}
    assert [name for name in (*rooms, *context) if name not in last] == []


def _siblings(folder: str) -> dict[str, set[str]]:
    """What stands in a package, modules and packages, each with those beside it that it imports."""
    found: dict[str, set[str]] = {}
    for module, path in _modules():
        if module.startswith(folder + "."):
            inside = module[len(folder) + 1 :].partition(".")[0]
            context = {each[len(folder) + 1 :].partition(".")[0] for each in _imports(path) if each.startswith(folder + ".")}
            found.setdefault(inside, set()).update(context - {inside})
    return found


@pytest.mark.parametrize("folder", [module for module, path in _modules() if path.name == "__init__.py" and module != "jobspec"])
def test_nothing_imports_in_a_circle(folder: str) -> None:
    """Of what stands beside each other in a folder, whether it is imported at once, in a function or for types."""
    left = _siblings(folder)
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert left == {}


def test_modules_are_imported_by_statements_that_tools_can_follow() -> None:
    """A table of functions by name hides what uses what; two packages load what they offer when it is asked for, and name it for tools."""
    found = {module for module, path in _modules() for node in _nodes(path) if _dotted(node) in ("import_module", "__import__")}
    assert found == {"jobspec", "jobspec.models"}


def test_only_commands_print_read_the_environment_or_exit() -> None:
    allowed = ("jobspec.cli", "jobspec.commands", "jobspec.session", "jobspec.__main__", "jobspec.captures.redirection")
    touching = {"print", "sys.exit", "os.environ", "os.getenv", "sys.stdout", "sys.stderr"}
    found = [
        f"{module}: {_dotted(node)}"
        for module, path in _modules()
        if not module.startswith(allowed)
        for node in _nodes(path)
        if _dotted(node) in touching
    ]
    assert found == []


def test_rooms_that_know_and_judge_open_no_file() -> None:
    """The session reads for them: it knows which files may be read, and which texts an editor has in place of files."""
    rooms = ORDER[ORDER.index("jobspec.go") : ORDER.index("jobspec.lint") + 1]
    opening = ("open", "os.open", "io.open", "io.FileIO", "FileIO")
    methods = ("read_text", "read_bytes", "open")
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for module, path in _modules()
        if _room(module) in rooms
        for node in _nodes(path)
        if isinstance(node, ast.Call)
        and (_dotted(node.func) in opening or (isinstance(node.func, ast.Attribute) and node.func.attr in methods))
    ]
    assert found == []


#: The modules that assign attributes of objects that exist already, and why.
_ASSIGNING = {
    "jobspec.diagnostics.record": "a class of records gets its `__init__`",
    "jobspec.session.arguments": "the usage and the last sentence of argparse's help depend on the options",
    "jobspec.commands.completion": "what completes an argument is an attribute that argparse does not know, and shtab looks for",
    "jobspec.documents.go_yaml": "a scanner keeps its state, and corrects the events of libyaml",
    "jobspec.documents.libyaml": "a package of Python's is loaded in parts",
    "jobspec.documents.reader": "a constructor keeps its state",
    "jobspec.documents.document": "parsed nodes, most of a run's memory, are dropped once a file is judged",
    "jobspec.lint.documents": "what is found for jobs that are alike depends on which questions rules have asked",
    "jobspec.reports.ci": "ElementTree takes the text of an element no other way",
    "jobspec.captures.redirection": "a program's clients are redirected by replacing functions of theirs, for a time",
    "jobspec.server.client": "the configuration belongs to the kubernetes package",
    "jobspec.schemas.shapes": "a shape takes its attributes from a row of its compiled file",
    "jobspec.kubernetes.admission.mutating": "an object goes through the policies one after the other",
    "jobspec.kubernetes.cel.library": "the syntax tree belongs to protobuf",
    "jobspec.kubernetes.cel.checking": "bindings of type parameters are undone where a branch fails",
    "jobspec.kubernetes.cel.parsing": "the descriptor belongs to protobuf",
    "jobspec.operators.kueue.admission": "a cycle of the scheduler gives flavors to one pod set after the other",
    "jobspec.operators.kueue.topology": "domains are filled in the course of a search",
    "jobspec.editor.mcp": "the SDK makes the schema of an answer from the signature of its tool",
    "jobspec.editor.workspace": "what is known of a workspace changes with every key that somebody presses",
    "jobspec.editor.language_server": "a server keeps what its client said",
    "jobspec.kubernetes.custom_kinds": "files are read when a kind of theirs is first asked for",
}


def _assigned(node: ast.AST, function: ast.FunctionDef | None = None) -> Iterator[str]:
    """The attributes that code assigns to objects which exist already, but for values that a property or method keeps."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store | ast.Del) and not _is_own(child, function):
            yield ast.unparse(child)
        if isinstance(child, ast.Call) and _dotted(child.func) == "setattr":
            yield ast.unparse(child)
        yield from _assigned(child, child if isinstance(child, ast.FunctionDef) else function)


def _is_own(assigned: ast.Attribute, function: ast.FunctionDef | None) -> bool:
    """Whether an attribute of `self` is assigned in `__init__` or where it is first read; or a private one in a property or its method."""
    if function is None or ast.unparse(assigned.value) != "self":
        return False
    is_property = "property" in map(ast.unparse, function.decorator_list)
    return (
        function.name in ("__init__", "__getattr__")
        or assigned.attr == f"_{function.name}"
        or (is_property and assigned.attr.startswith("_"))
    )


def test_values_do_not_change_once_they_are_made() -> None:
    found = {module: list(_assigned(_tree(path))) for module, path in _modules()}
    assert {module: names for module, names in found.items() if names and module not in _ASSIGNING} == {}
    assert [module for module in _ASSIGNING if not found[module]] == []


def test_no_two_classes_have_one_name() -> None:
    """Kinds in `models` keep Kubernetes' names, which several groups can share."""
    found: dict[str, list[str]] = {}
    for module, path in _modules():
        for node in _nodes(path) if not module.startswith("jobspec.models") else ():
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}


def test_a_release_is_asked_about_in_its_own_room() -> None:
    """What a release of an operator or of Kubernetes does otherwise stands in its room: `is_at_least(release, "2.2.0")` nowhere else."""
    rooms = ("operators", "kubernetes", "models", "schemas")
    elsewhere = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for _, path in _modules()
        if path.relative_to(PACKAGE).parts[0] not in rooms
        for node in _nodes(path)
        if isinstance(node, ast.Call)
        and _dotted(node.func).rpartition(".")[2] == "is_at_least"
        and any(isinstance(each, ast.Constant) for each in node.args)
    ]
    assert elsewhere == []


def _first_texts(name: str) -> Iterator[str]:
    """The texts that the package writes as first argument of calls of a name."""
    for _, path in _modules():
        for node in _nodes(path):
            match node:
                case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(text)), *_]) if (
                    called == name
                ):
                    yield text


def test_every_rule_that_code_gives_is_in_the_catalogue_and_the_other_way_round() -> None:
    texts = {
        node.value
        for _, path in _modules()
        if path != PACKAGE / "diagnostics" / "explanations.py"
        for node in _nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert [rule for rule in RULES if rule not in texts] == []
    given = {rule for name in ("Diagnostic", "Problem", "problem") for rule in _first_texts(name)}
    assert len(given) > 20
    assert given <= RULES.keys()


def test_every_rule_of_a_webhook_is_in_the_catalogue_under_a_name_of_its_own() -> None:
    checks = {rule.check for each in ADMISSION for rule in each}
    defined = {
        node.name.replace("_", "-")
        for module, path in _modules()
        if module.startswith("jobspec.operators.")
        for node in _nodes(path)
        if isinstance(node, ast.FunctionDef) and [argument.arg for argument in node.args.args] == ["workload", "target"] and node.returns
        if ast.unparse(node.returns) == "Iterator[Finding]" and not node.name.startswith("_")
    }
    named = {check.__name__.replace("_", "-") for check in checks}
    assert len(checks) == len(named)
    assert named == defined
    assert not named & RULES.keys()
    assert rules().keys() == named | RULES.keys() | {rule.name for rule in every_rule()}
    assert [name for name, text in rules().items() if not text.endswith(".")] == []


def test_every_rule_of_lint_stands_in_its_list_under_a_name_of_its_own() -> None:
    defined = [
        node.name.replace("_", "-")
        for module, path in _modules()
        if module.startswith("jobspec.lint.")
        for node in _nodes(path)
        if isinstance(node, ast.FunctionDef) and node.returns and ast.unparse(node.returns) == "Iterator[Finding]"
        if not node.name.startswith("_")
    ]
    assert sorted(rule.name for rule in every_rule()) == sorted(defined)
    assert not {rule.name for rule in every_rule()} & RULES.keys()


def _python(code: str, *arguments: str) -> set[str]:
    """What some code prints on standard error, word by word, where nobody measures its coverage."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return set(python(code, *arguments, env=variables).stderr.split())


def _loaded(*arguments: str) -> set[str]:
    """The modules that Python has loaded at the end of a run."""
    return _python(
        "import atexit, sys\natexit.register(lambda: print(*sys.modules, file=sys.__stderr__))\n"
        "from jobspec.__main__ import program\nprogram()",
        *arguments,
    )


def test_import_and_help_load_neither_yaml_nor_pydantic() -> None:
    heavy = {"yaml", "pydantic", "torch", "json", "jobspec.documents.reader"}
    assert not heavy & _python("import jobspec, sys; print(*sys.modules, file=sys.stderr)")
    assert not heavy & _loaded("--help")


NEVER_AT_THE_DOOR = {
    "typing",
    "dataclasses",
    "pathlib",
    "logging",
    "inspect",
    "difflib",
    "functools",
    "collections",
    "operator",
    "re",
    "pydantic",
    "jsonschema",
    "kubernetes",
    "tempfile",
    "shutil",
    "subprocess",
    "multiprocessing",
    "concurrent",
}


def test_validate_loads_nothing_heavy() -> None:
    job = str(ROOT / "tests" / "cases" / "guides" / "simple.yaml")
    bare = _python("import sys; print(*sys.modules, file=sys.stderr)")
    assert not NEVER_AT_THE_DOOR & _loaded("validate", job, "--no-outcome") - bare
    assert not (NEVER_AT_THE_DOOR | {"decimal", "fractions"}) & _loaded("validate", job) - bare


@pytest.mark.parametrize("arguments", [("--overlay", "gpu-nccl"), ("--overlay", "cpu", "--overlay", "istio-off")])
def test_render_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    loaded = _loaded("render", str(ROOT / "tests" / "cases" / "guides" / "simple.yaml"), *arguments)
    assert not {"json", "re", "typing", "dataclasses", "pydantic", "jsonschema", "kubernetes"} & loaded
    assert not [module for module in loaded if module.startswith("jobspec.project.")]


@pytest.mark.parametrize("arguments", [("-o", "json"), ("-o", "yaml", "--defaults")])
def test_expand_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    loaded = _loaded("expand", str(ROOT / "tests" / "cases" / "guides" / "simple.yaml"), *arguments)
    assert "jobspec.operators.expansion" in loaded
    assert not {"typing", "dataclasses", "decimal", "fractions", "pydantic", "jsonschema", "kubernetes"} & loaded


@pytest.mark.parametrize("job", ["simple", "trainjob"])
def test_lint_loads_nothing_heavy(job: str) -> None:
    loaded = _loaded("lint", str(ROOT / "tests" / "cases" / "guides" / f"{job}.yaml"))
    assert [each for each in loaded if each.startswith(("jobspec.project", "jobspec.lint.catalogue", "jobspec.models"))] == []
    assert not {"typing", "dataclasses", "pydantic", "jsonschema", "kubernetes", "textwrap", "re"} & loaded


def test_policies_are_matched_without_the_cel_library() -> None:
    """Most objects match none, and to load the library takes as long as to check twenty of them."""
    loaded = _python("import sys, jobspec.kubernetes.admission.policies\nprint(*sys.modules, file=sys.stderr)")
    assert "jobspec.kubernetes.cel.cost" in loaded
    assert [each for each in loaded if each.startswith(("cel_expr_python", "google.protobuf"))] == []


def test_the_language_server_starts_without_models() -> None:
    """It loads the models once it has looked at the workspace, or at the first hover."""
    pytest.importorskip("pygls", reason="pygls is not installed")
    loaded = _python("import sys\nfrom jobspec.editor.language_server import server\nserver()\nprint(*sys.modules, file=sys.stderr)")
    assert "jobspec.editor.features" in loaded
    assert [each for each in loaded if each == "pydantic" or each.startswith("jobspec.models")] == []


def test_public_names_are_there_when_asked_for() -> None:
    import jobspec

    assert sorted(jobspec._HOMES) == sorted(jobspec.__all__)
    assert all(getattr(jobspec, name) for name in jobspec.__all__)
    assert set(jobspec.__all__) <= set(dir(jobspec))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = jobspec.nothing


def test_no_public_name_is_a_module_of_the_package() -> None:
    """The import of `jobspec.capture` would put the module in place of the function of that name."""
    import jobspec

    assert not [name for name in jobspec.__all__ if f"jobspec.{name}" in dict(_modules())]


#: What each folder may import: what the package itself declares, and what these extras declare. The first that fits counts.
_EXTRAS = {
    "jobspec/captures": ("dry-run",),  # the client of the program that is captured
    "jobspec/server": ("dry-run",),
    "jobspec/editor": ("lsp", "mcp"),
    "jobspec": (),
    "trainer": ("trainer-libraries",),
    "tests": ("dev", "dev-trainer", "dry-run", "trainer-libraries"),
}
_DISTRIBUTIONS = {"google": "protobuf", "ruamel": "ruamel.yaml", "yaml": "pyyaml"}


def _declared() -> dict[str, set[str]]:
    """The names of the distributions that each extra asks for; those of the package itself under an empty name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: {re.split(r"[^\w.-]", each)[0] for each in asked} for extra, asked in extras.items()}


def _distributions(path: Path) -> Iterator[str]:
    """The distributions that a module imports from, besides Python's own."""
    tree = _tree(path) if path.is_relative_to(PACKAGE) else ast.parse(path.read_text())
    for node in _statements(tree):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for name in (each.partition(".")[0] for each in names):
            if name not in sys.stdlib_module_names and not (ROOT / name).is_dir():
                yield _DISTRIBUTIONS.get(name, name.replace("_", "-"))


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    declared = _declared()
    imported: dict[str, set[str]] = {folder: set() for folder in _EXTRAS}
    for path in sorted(each for folder in ("jobspec", "trainer", "tests") for each in (ROOT / folder).rglob("*.py")):
        folder = next(each for each in _EXTRAS if path.is_relative_to(ROOT / each))
        imported[folder] |= set(_distributions(path))
    allowed = {folder: declared[""].union(*(declared[extra] for extra in extras)) for folder, extras in _EXTRAS.items()}
    assert {folder: names - allowed[folder] for folder, names in imported.items() if names - allowed[folder]} == {}
    assert declared[""] - imported["jobspec"] == set()
    assert declared["dry-run"] - imported["jobspec/server"] == set()


#: Equal constants that are two facts, or one that a module cannot import at a price that every start would pay.
EQUAL_BY_CHANCE = {
    ("jobspec.kubernetes.compiling", "jobspec.models.base"),  # the pattern of quantities: models load pydantic
    ("jobspec.project.importing", "jobspec.server.pin"),  # fields of metadata
}


def _strings(node: ast.AST) -> list[str]:
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def test_no_fact_stands_in_two_modules() -> None:
    """A list of three words or a long text that is a constant of two modules is one fact that stands twice; alphabets are no facts."""
    found: dict[str, list[str]] = {}
    for module, path in _modules():
        for node in ast.parse(path.read_text()).body:
            value = getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
            texts = _strings(value) if value else []
            if len(texts) > 2 or any(len(each) > 24 and ascii_lowercase not in each for each in texts):
                found.setdefault(ast.unparse(value), []).append(module)
    assert {tuple(each) for each in found.values() if len(each) > 1} == EQUAL_BY_CHANCE
