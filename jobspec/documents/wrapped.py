"""Manifests inside other objects: components of an AppWrapper, manifests of Argo Workflows, trials of Katib, data of ConfigMaps.

Follows `AppWrapperSpec` (codeflare.dev v1beta1, v1beta2), `ResourceTemplate` (argoproj.io v1alpha1), `TrialTemplate` (Katib v1beta1)
and its names, github.com/kubeflow/katib pkg/controller.v1beta1/suggestion/suggestionclient.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from jobspec.apis.kinds import MANIFEST_ENDINGS
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Path, value_at
from jobspec.documents.document import Document, OnePlace
from jobspec.documents.reader import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.node_marks import Form

_ARGO = ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow")
#: Actions of Argo Workflows whose manifest only names an object, or says what to change in it.
_PARTIAL_ACTIONS = ("get", "delete", "patch")
#: Placeholders that the controllers of wrappers fill in.
PARAMETER = re.compile(r"\{\{.*?\}\}|\$\{trialParameters\.[^}]*\}")


def wrapped_in(document: Document, text: str) -> list[Document]:
    """Return the manifests inside a document of a file with a *text*.

    Their index is the index of the document.
    """
    (group, kind), data = document.group_kind, document.data
    if kind == "AppWrapper":
        lists = (("spec", "components"), "template"), (("spec", "resources", "GenericItems"), "generictemplate")
        return [part for path, field in lists for part in _parts(document, path, field)]
    if kind == "Experiment":
        path: Path = ("spec", "trialTemplate", "trialSpec")
        spec = value_at(data, path)
        return [document.part(spec, path).with_metadata({"name": _trial_of(document.name)})] if isinstance(spec, dict) else []
    if kind in _ARGO and group == "argoproj.io":
        places = [("spec", "workflowSpec", "templates") if kind == "CronWorkflow" else ("spec", "templates")]
        resources = [(*at, "resource") for at in _indices(data, places[0])]
        whole = [at for at in resources if value_at(data, (*at, "action")) not in _PARTIAL_ACTIONS]
        return [each for at in whole for each in _in_text(document, (*at, "manifest"), text)]
    held = data.get("data") if kind == "ConfigMap" else None
    names = [name for name in held if str(name).endswith(MANIFEST_ENDINGS)] if isinstance(held, dict) else []
    return [each for name in names for each in _in_text(document, ("data", name), text, is_held=True) if each.kind and each.api_version]


def _trial_of(experiment: str) -> str:
    """Return a name as Katib gives it to a trial.

    That is the name of the experiment, with eight random characters.
    """
    return f"{experiment}-trial000" if experiment else "trial"


def _indices(data: Any, path: Path) -> list[Path]:
    found = value_at(data, path)
    return [(*path, index) for index in range(len(found))] if isinstance(found, list) else []


def _parts(document: Document, path: Path, field: str) -> Iterator[Document]:
    for at in _indices(document.data, path):
        found = value_at(document.data, (*at, field))
        if isinstance(found, dict):
            yield document.part(found, (*at, field))


def _in_text(document: Document, path: Path, text: str, *, is_held: bool = False) -> list[Document]:
    """The manifests in a text of a document."""
    found = [each for each in documents_in_text(document, path, text) if isinstance(each.data, dict)]
    return [each.inside_of(document, is_held=is_held) for each in found]


def documents_in_text(document: Document, path: Path, text: str) -> list[Document]:
    """Return the documents in a string value of a document. If it is not YAML, return none.

    *text* is the text of the file. If the value is a literal block, its documents are marked at their own lines; else at the place of the
    value.
    """
    found, problems = read_inside(document, path, text)
    return [] if problems else found


def read_inside(document: Document, path: Path, text: str, form: Form = "manifest") -> tuple[list[Document], list[Diagnostic]]:
    """Return what `documents_in_text` does, and the problems of the YAML.

    *form*: `patch` for a patch of kustomize.
    """
    value = value_at(document.data, path)
    if not isinstance(value, str):
        return [], []
    if not text:
        found, problems = _data_in(value, form)
        mark = document.marks.nearest(path).mark if problems else None
        made = [Document(each, OnePlace(each, partial(_mark_at, document, path)), file=document.file) for each in found]
        return made, [each.changed(mark=mark) for each in problems]
    mark = document.marks.nearest(path).mark
    lines = text.split("\n")
    is_literal = mark.line < mark.end_line <= len(lines) + 1 and lines[mark.line - 1][mark.column - 1 :].startswith("|")
    if is_literal:
        inside = ["---" if line.strip() == "---" else line for line in lines[mark.line : mark.end_line - 1]]
        return read("\n".join(inside), file=document.file, first_line=mark.line, form=form)
    found, problems = _data_in(value, form)
    if problems:
        problems = read(value, file="", first_line=mark.line - 1, form=form)[1]
    return [Document(each, OnePlace(each, mark), file=document.file) for each in found], [each.changed(mark=mark) for each in problems]


@lru_cache(maxsize=64)
def _data_in(text: str, form: Form) -> tuple[list[Any], list[Diagnostic]]:
    """Return the data of the documents in a text, and the problems of its YAML.

    Several builds often have one text.
    """
    documents, problems = read(text, file="", form=form)
    return [each.data for each in documents], problems


def _mark_at(document: Document, path: Path) -> Mark:
    return document.marks.nearest(path).mark
