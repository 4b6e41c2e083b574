"""Read the `functionConfig` of a KRM function: overlays, their parameters, checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jobspec.apis.kinds import OVERLAY, group_kind
from jobspec.diagnostics.diagnostic import SEVERITIES, lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.wording import as_text
from jobspec.overlays.load import LoadedOverlay, OverlayFile, ParameterValue, load
from jobspec.session.inputs import RunContext, load_run_context, overlay_file, parameter_value
from jobspec.session.options import Options
from jobspec.world.world import Cluster

_CHECKS = ("validate", "lint")
FIELDS = ("overlays", "set", "check", "fail-on", "target", "cluster")


class KrmConfig:
    """The requests of a `functionConfig`, and everything that is wrong with it."""

    def __init__(self, config: Any) -> None:
        self.wrong: list[str] = []
        self.overlays: list[LoadedOverlay] = []
        config = config if isinstance(config, dict) else {}
        in_data = config.get("kind") == "ConfigMap"
        self._place = f"functionConfig.{'data' if in_data else 'spec'}"
        files: list[OverlayFile] = []
        values: list[ParameterValue] = []
        said = config.get("data" if in_data else "spec") or {}
        if group_kind(str(config.get("apiVersion")), str(config.get("kind"))) == OVERLAY:
            files, said = [_own(config)], {}
        elif not isinstance(said, dict):
            self.wrong.append(f"{self._place}: write a mapping of {', '.join(FIELDS)}")
            said = {}
        self.wrong += [f"{self._place}.{each}: no such field; there are {', '.join(FIELDS)}" for each in said if each not in FIELDS]
        for number, entry in enumerate(self._listed(said, "overlays")):
            self._add(entry, f"{self._place}.overlays[{number}]", files, values)
        values += filter(None, [self._caught(parameter_value, str(each)) for each in self._listed(said, "set")])
        self.check = self._choice(said, "check", _CHECKS)
        self.fail_on = self._choice(said, "fail-on", SEVERITIES)
        self.cluster = self._cluster_of(said)
        if not files and "check" not in said and not self.wrong:
            self.wrong.append(f"{self._place}: set `overlays: [cpu]`, `check: validate` or `check: lint`")
        if (files or values) and not self.wrong and (loaded := self._caught(load, files, values, self.cluster.target)):
            self.overlays, problems = loaded
            self.wrong += [lines_of([each]) for each in problems]

    def _cluster_of(self, said: dict[str, Any]) -> Cluster:
        """The cluster in the file that is named, of other releases where such are named; its path begins at the working folder."""
        target, path = list(map(str, self._listed(said, "target"))), str(said.get("cluster") or "")
        context: RunContext | None = self._caught(load_run_context, Options(target=target, cluster=path or None))
        if not context:
            return Cluster()
        self.wrong.extend(f"{each.mark}: {each.message}" for result in context.wrong for each in result.diagnostics)
        return context.cluster

    def _caught(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """What *make* gives; None where it cannot, with the reason noted."""
        try:
            return make(*arguments)
        except JobspecError as error:
            self.wrong.append(f"{self._place}: {error}")
            return None

    def _listed(self, said: dict[str, Any], name: str) -> list[Any]:
        """A list, or in a ConfigMap its entries with commas between them."""
        value = said.get(name) or []
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        if isinstance(value, list):
            return value
        self.wrong.append(f"{self._place}.{name}: expected a list, or a string with commas")
        return []

    def _choice(self, said: dict[str, Any], name: str, choices: Sequence[str]) -> str:
        value = said.get(name, choices[0])
        if value not in choices:
            self.wrong.append(f"{self._place}.{name}: {value} is not one of {', '.join(choices)}")
            return choices[0]
        return str(value)

    def _add(self, entry: Any, place: str, files: list[OverlayFile], values: list[ParameterValue]) -> None:
        """One overlay, in the form of a project: its name or path, or a mapping of that to its parameters."""
        name, parameters = next(iter(entry.items())) if isinstance(entry, dict) and len(entry) == 1 else (entry, {})
        parameters = {} if parameters is None else parameters
        is_flat = isinstance(parameters, dict) and not any(isinstance(each, (dict, list)) for each in parameters.values())
        if not isinstance(name, str) or not is_flat:
            self.wrong.append(
                f"{place}: expected an overlay: a name, a path, or an object with its parameters, such as `gpu-nccl: {{gpus: 2}}`"
            )
            return
        files += filter(None, [self._caught(overlay_file, name)])
        values += [ParameterValue(name, key, as_text(value), f"{place}.{name}.{key}") for key, value in parameters.items()]


def _own(config: dict[str, Any]) -> OverlayFile:
    """An Overlay that is the `functionConfig` itself, without the annotations that its runner needs."""
    from jobspec.documents.manifest import document_of

    metadata = config.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    return OverlayFile("functionConfig", document_of({**config, "metadata": {"name": name}}, "functionConfig", layer=True), stem=str(name))
