"""A container: what it asks for, and what it runs."""

from __future__ import annotations

from functools import cached_property

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.go.quantities import quantity_of
from jobspec.operators.accelerators import is_gpu, is_other_accelerator
from jobspec.operators.expansion import ExpandedRole, value_of
from jobspec.operators.made import RANDOM
from jobspec.outcome.training_program import TrainingProgram
from jobspec.programs import command_lines
from jobspec.programs.command_lines import expand_references
from jobspec.programs.shells import is_name, read_script, script_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from jobspec.operators.expansion import ExpandedPod
    from jobspec.programs.launchers import LauncherCommand

    #: A flag's name, its value, and the place of the value, which is the flag's own where it is joined to it or there is none.
    Flag = tuple[str, str, MarkedTree]
    #: A variable's name, its value, which is empty where another object has it, and its place.
    Setting = tuple[str, str, MarkedTree]


_ONE = 1_000_000_000
_TOOLS = frozenset(
    ("nvidia-smi", "rocm-smi", "nvcc", "sleep", "echo", "printf", "ls", "cat", "env", "printenv", "date", "hostname", "true", "df", "free")
)
"""Programs that show something or wait."""


class LintedContainer:
    """A container of a role, in its first pod."""

    def __init__(self, tree: MarkedTree, role: ExpandedRole, *, is_init: bool) -> None:
        self.tree = tree
        self.role = role
        self.is_init = is_init
        fields = tree.value
        self.name: str = text(tree, "name")
        self.trains = self.name == role.training and not is_init
        """Whether it is the one that trains."""
        self.image: MarkedTree | None = fields.get("image")
        asked = fields.get("resources")
        self.resources = {name: each for field in ("requests", "limits") for name, each in asked.entries(field)} if asked else {}
        """The names of what is asked for, each with its limit or else its request."""
        self.gpus = sum([amount(tree, name) // _ONE for name in self.resources if is_gpu(name)])
        """The number of whole GPUs."""

    @cached_property
    def words(self) -> Sequence[tuple[str, MarkedTree]]:
        """The words of what is run, those of a shell's command string each on its own, with the place of each."""
        words = [each for field in ("command", "args") for each in items(self.tree.get(field))]
        given = [(str(each.value), each) for each in words if isinstance(each.value, (str, int, float))]
        is_in_shell = given and command_lines.is_shell(given[0][0])
        return [(word, each) for said, each in given for word in _in_shell(said)] if is_in_shell else given

    @cached_property
    def program(self) -> TrainingProgram:
        """The program that it starts."""
        return TrainingProgram(self.tree)

    @cached_property
    def only_shows(self) -> bool:
        """Whether it runs nothing but tools that show something or wait, such as `nvidia-smi && sleep 600`."""
        words = [str(each.value) for field in ("command", "args") for each in items(self.tree.get(field))]
        at = script_at(words)
        script = None if at is None else read_script(words[at])
        commands = [each.words for each in script.commands] if script else [words]
        is_known = bool(words) and bool(commands) and not (script and script.reads_files)
        return is_known and all(command_lines.file_name(each[0]) in _TOOLS for each in commands)

    @property
    def gpu_place(self) -> MarkedTree:
        """Where the GPUs are asked for."""
        return next((tree for name, tree in self.resources.items() if is_gpu(name)), self.tree)

    @property
    def other_accelerators(self) -> list[tuple[str, MarkedTree, int]]:
        """Accelerators that are no whole GPUs: name, place and number."""
        named = [(name, tree) for name, tree in self.resources.items() if is_other_accelerator(name)]
        return [(name, tree, amount(self.tree, name) // _ONE) for name, tree in named]

    @cached_property
    def variables(self) -> list[tuple[str, MarkedTree]]:
        """The environment variables in their order, with those that the operator sets."""
        return [(text(each, "name"), each) for each in items(self.tree.get("env"))]

    @cached_property
    def assignments(self) -> list[Setting]:
        """The variables that its command line sets.

        That are those of `export NAME=VALUE` and `mpirun -x NAME=VALUE`, for example.
        """
        pairs = [(*word.partition("=")[::2], place) for word, place in self.words if "=" in word]
        return [(name, value.strip("\"'"), place) for name, value, place in pairs if name.isupper() and is_name(name)]

    @cached_property
    def settings(self) -> list[Setting]:
        """The environment variables in their order, and then those of the command line.

        Those that the operator sets are among them.
        """
        return [*((name, text(each, "value"), written(each.get("value"), each)) for name, each in self.variables), *self.assignments]

    @cached_property
    def values(self) -> Mapping[str, str]:
        """The known values of its variables that all pods of the role share, by name.

        A variable that its script sets is among them if the script sets it once.
        """
        found = [_values_in(each, self) for each in self.role.pods]
        script, known = self.program.script, found[0]
        known = {name: value for name, value in known.items() if all(each.get(name) == value for each in found)}
        if script is None:
            return known
        known = {} if script.reads_files else {name: value for name, value in known.items() if name not in script.assigned}
        for name, value in script.values.items():
            known[name] = expand_references(value, known)
        return {name: value for name, value in known.items() if "$" not in value}

    def expanded(self, said: str, *, without: Collection[str] = ()) -> str:
        """Return a text with the values of its variables.

        These are those of `$(NAME)`, and in a script those of `$NAME`. References to variables *without* stay.
        """
        if "$" not in said:
            return said
        known = {name: value for name, value in self.values.items() if name not in without}
        said = expand_references(said, known)
        if self.program.script is None:
            return said
        import re

        return re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda found: known.get(found[1] or found[2], found[0]), said)

    def variable(self, name: str) -> MarkedTree | None:
        """The variable that counts: the last of its name."""
        return next((each for known, each in reversed(self.variables) if known == name), None)

    @cached_property
    def launcher(self) -> str:
        """What starts the processes, by the command line: `torchrun`, `other`, or empty where an image or a script decides."""
        if not items(self.tree.get("command")):
            return ""
        programs = [command_lines.file_name(word) for word, _ in self.words]
        if any(each in command_lines.NAMES for each in programs):
            return "torchrun"
        return "other" if any(each.startswith("python") for each in programs) else ""

    @cached_property
    def flags(self) -> list[Flag]:
        """The flags of what is run, with `-` in place of `_`; the value is empty where none follows."""
        found = []
        for number, (word, tree) in enumerate(self.words):
            if word.startswith("--") and len(word) > 2:
                name, equals, value = word.partition("=")
                follows, behind = self.words[number + 1] if number + 1 < len(self.words) else ("", tree)
                if not equals and follows and not follows.startswith("-"):
                    value, tree = follows, behind
                found.append((name.replace("_", "-"), value.strip("\"'"), tree))
        return found

    @cached_property
    def torchrun_flags(self) -> list[Flag]:
        """The options between `torchrun` and the program that it starts, by their full names."""
        if self.launcher != "torchrun":
            return []
        start = next(number for number, (word, _) in enumerate(self.words, 1) if command_lines.file_name(word) in command_lines.NAMES)
        found = command_lines.options_of([word for word, _ in self.words[start:]])
        return [(each.option, (each.value or "").strip("\"'"), self.words[start + each.value_at][1]) for each in found if each.option]

    @cached_property
    def other_launcher(self) -> tuple[LauncherCommand, Sequence[MarkedTree]] | None:
        """The call of accelerate or DeepSpeed that it surely starts once, with the places of its words; None if there is none."""
        return self.program.other_launcher

    def mount_around(self, path: str) -> MarkedTree | None:
        """The volume mount that a path is in, the innermost; None where it is in none."""
        mounts = [(text(each, "mountPath").rstrip("/"), each) for each in items(self.tree.get("volumeMounts"))]
        around = [(len(place), each) for place, each in mounts if place and f"{path.rstrip('/')}/".startswith(f"{place}/")]
        return max(around, key=lambda each: each[0])[1] if around else None


def _values_in(pod: ExpandedPod, container: LintedContainer) -> dict[str, str]:
    """Return the known values of a container's variables in a pod."""
    found: dict[str, str] = {}
    own = [each for each, is_init in pod.containers() if is_init == container.is_init and text(each, "name") == container.name]
    for variable in (each for tree in own for each in items(tree.get("env"))):
        value = expand_references(value_of(variable, pod.tree), found)
        found = {name: each for name, each in found.items() if name != text(variable, "name")}
        if "$(" not in value and not value.startswith("<") and RANDOM not in value:
            found[text(variable, "name")] = value
    return found


def volumes_of(role: ExpandedRole) -> list[MarkedTree]:
    """The volumes of a role's pods."""
    return items(role.pod_tree.get("spec", "volumes"))


def written(*trees: MarkedTree | None) -> MarkedTree:
    """The first of some values that a file wrote; the last one where none is written by a file."""
    last = trees[-1]
    assert last
    return next((each for each in trees if each and each.mark.line), last)


def amount(container: MarkedTree, resource: str) -> int:
    """How much of a resource is asked for, by the limit or else the request, in billionths; 0 where neither says it."""
    return nanos(text(container, "resources", "limits", resource) or text(container, "resources", "requests", resource))


def bytes_of(said: str) -> int:
    """A quantity of memory in bytes; 0 where the text is none."""
    return nanos(said) // _ONE


def nanos(said: str) -> int:
    """A quantity in billionths; 0 where the text is none."""
    return quantity_of(said).nanos


def _in_shell(said: str) -> Iterator[str]:
    """The words of a shell's text, without quotes, comments and what separates commands."""
    for line in said.splitlines():
        for part in line.split():
            if part.startswith("#"):
                break
            word = part.lstrip("(").rstrip(";&|)\\").strip("\"'")
            if word:
                yield word
