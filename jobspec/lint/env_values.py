"""Values of `env` with `$NAME`, which stays as it is: Kubernetes expands `$(NAME)` alone, and a shell expands no value again.

Found is what no program expands by itself: search paths such as PATH, and references to other variables of a container that trains, or
runs a Python file for a job. Other programs fill in `${NAME}` themselves, as Spring does, or scripts that `eval` a value.
"""

from __future__ import annotations

from jobspec.diagnostics.problems import set_to
from jobspec.diagnostics.rules import Finding
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.lint.container import LintedContainer
from jobspec.lint.linted import LintedJob
from jobspec.programs.shells import is_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any


#: Lists of folders and files that the system or a language searches as they stand.
_SEARCH_PATHS = frozenset(
    (
        *("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"),
        *("PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "MANPATH"),
    )
)
#: Variables of images and shells, which the search paths are made of.
_OF_IMAGES = _SEARCH_PATHS | {"HOME", "PWD", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"}
#: How names of variables begin or end whose values programs expand, as Hugging Face's do, or scripts take for words.
_EXPANDED = ("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "XDG_", "HYDRA_")
_WORDS = ("ARGS", "OPTS", "OPTIONS", "FLAGS", "CMD", "COMMAND", "SCRIPT", "PASSWORD", "PASSWD", "SECRET", "TOKEN", "KEY")
#: Signs of texts for a program: a shell's snippet, JSON, an escaped dollar sign.
_OF_SNIPPETS = frozenset("'\"`\\{[;|<>*")
#: What the dynamic loader fills in itself, as in `LD_LIBRARY_PATH=$ORIGIN/lib`.
_OF_LOADER = ("ORIGIN", "LIB", "PLATFORM")
#: The fields whose texts a shell may read.
_OF_PROGRAMS = ("command", "args")


def shell_references(said: str) -> list[tuple[str, str]]:
    """Return each `$NAME` and `${NAME}` of a text with its name.

    If a program may read the text, such as a script or JSON, return none.
    """
    plain = said.replace("${", "$")
    if "$" not in said or "$$" in said or any(each.isspace() or each in _OF_SNIPPETS for each in plain):
        return []
    import re

    found = ((each[0], each[1] or each[2]) for each in re.finditer(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", said))
    return [each for each in found if each[1] not in _OF_LOADER]


def unexpanded_values(job: LintedJob, container: LintedContainer) -> list[Finding]:
    """Return a finding for each value of a container's `env` with a shell's reference that stays as it is."""
    found: list[Finding] = []
    every = dict(container.variables)
    before: set[str] = set()
    for name, each in container.variables:
        value = each.get("value")
        references = shell_references(text(value)) if value and value.mark.line else []
        names = [other for _, other in references]
        lost = [other for other in names if name in _SEARCH_PATHS and other in _OF_IMAGES - every.keys() | {name}]
        own = [other for other in names if other in every and other != name]
        if value and lost and text(value) != references[0][0]:
            effect = "the image's own value is lost" if name in lost else "the program gets this text"
            hint = f"write the whole value, or export `{name}` in a shell"
            found.append(Finding(value, f"nothing expands `${lost[0]}` in the value of `{name}`: {effect}", hint))
        elif value and own and _gets_text(name, job, container) and not _is_template(job):
            found.append(_of_own(name, value, [(ref, other) for ref, other in references if other in own], before, every))
        before.add(name)
    return found


def _of_own(
    name: str, value: MarkedTree, references: Sequence[tuple[str, str]], before: set[str], every: Mapping[str, MarkedTree]
) -> Finding:
    """The finding about references to other variables of the container."""
    other = references[0][1]
    message = f"nothing expands `${other}` in the value of `{name}`: the program gets this text"
    if other in before:
        wanted = text(value)
        for ref, known in references:
            wanted = wanted.replace(ref, f"$({known})") if known in before else wanted
        return Finding(value, message, f"write `$({other})`, which Kubernetes expands", edits=[(value, set_to((), wanted))])
    if every[other].mark.line:
        return Finding(value, message, f"define `{other}` before it, and write `$({other})`")
    return Finding(value, message, f"use `$({other})` in `args`")


def _gets_text(name: str, job: LintedJob, container: LintedContainer) -> bool:
    """Whether the program of a container that trains, or Python of a job, surely gets a variable's value as it stands."""
    if name in _SEARCH_PATHS:
        return True
    program, is_known = container.program, bool(items(container.tree.get("command")))
    is_known = is_known and (container.trains or (job.is_job and program.is_plain_python))
    runs_more = bool(program.script and program.script.reads_files) or any(each.endswith((".sh", ".bash")) for each in program.texts)
    is_expanded = name.startswith(_EXPANDED) or name.endswith(_WORDS) or program.mentions("eval ", "envsubst", "expandvars", ".sh ")
    return is_known and is_name(name) and not runs_more and not is_expanded


def _is_template(job: LintedJob) -> bool:
    """Whether something fills in the file: it names variables that no container has, or gives one its own name as value."""
    known = {name for each in job.containers for name, _ in each.variables}
    own = {(name, text(each, "value")) for container in job.containers for name, each in container.variables}
    if any(said in (f"${name}", f"${{{name}}}") for name, said in own):
        return True
    return any(name not in known | _OF_IMAGES for said in _texts(job.given.data) for _, name in shell_references(said))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of an object outside of command lines."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in _OF_PROGRAMS:
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
