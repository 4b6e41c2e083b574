"""A real Argo CD, which syncs real Git repositories, and how tests wait for it.

`JOBSPEC_TEST_ARGOCD_KUBECONFIG` names its server, where operators and a simulated node run as well. Its repository server runs on this
machine, so that it reads repositories of this machine by `file://`.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.support.manifests import write
from tests.support.processes import program, run_here
from tests.support.server import Server, kubeconfig

VARIABLE = "JOBSPEC_TEST_ARGOCD_KUBECONFIG"
_PATIENCE = 120.0  # seconds: all of it is needed on a machine that is very busy, and a second or two on one that is not
APPLICATIONS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
_AUTHOR = ("-c", "user.name=tests", "-c", "user.email=tests@example.com")


class Repository:
    """A Git repository with a project, or with plain manifests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"file://{folder}"
        folder.mkdir()
        self._git("init", "--quiet", "--initial-branch=main")

    def commit(self, files: Mapping[str, str]) -> str:
        """Commit the files with what they render to, where they are a project; returns the commit."""
        write(self.folder, files)
        if (self.folder / "jobspec.yaml").exists():
            done = run_here("render", cwd=self.folder)
            assert done.returncode == 0, done.stdout + done.stderr
        self._git("add", "--all")
        self._git(*_AUTHOR, "commit", "--quiet", "--message=a change")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        done = program("git", *words, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout


@dataclass(frozen=True)
class State:
    """What Argo CD says of an application."""

    revision: str
    """The commit that it compares with the cluster."""
    synced: str
    """The commit of its last sync, which is over; empty where none is."""
    sync: str
    health: str
    asked: str
    """Who asked for that sync: a test's own text; empty where Argo CD began it by itself."""
    why: str
    """What it says besides."""


class ArgoCD:
    """The server, and its Argo CD."""

    def __init__(self) -> None:
        self._kubeconfig = kubeconfig(VARIABLE)
        self._server = Server(self._kubeconfig)

    def close(self) -> None:
        self._server.close()

    def run_kubectl(self, *words: str | Path, stdin: str = "") -> CompletedProcess[str]:
        return program("kubectl", f"--kubeconfig={self._kubeconfig}", *words, stdin=stdin)

    def kubectl(self, *words: str | Path, stdin: str = "") -> str:
        done = self.run_kubectl(*words, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(map(str, words))}: {done.stderr}"
        return done.stdout

    def get(self, path: str) -> dict[str, Any]:
        """An object, with all that the server keeps of it; empty where there is none."""
        found = self._server.get(path)
        assert found.get("kind") != "Status" or found["code"] == 404, found
        return {} if found.get("kind") == "Status" else found

    def items(self, *paths: str) -> dict[tuple[str, str], dict[str, Any]]:
        """The objects of lists, by kind and name."""
        found = {}
        for listed in map(self._server.get, paths):
            head = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")}
            found |= {(head["kind"], each["metadata"]["name"]): {**head, **each} for each in listed["items"]}
        return found

    def delete(self, *paths: str, waits: bool = True) -> None:
        """Delete objects that may not be there, and wait until they are gone."""
        for path in paths:
            answer = self._server.call("DELETE", path)
            assert answer.accepted or answer.code == 404, answer
        if waits:
            self.waits_for(lambda: not any(map(self.get, paths)), lambda: f"of {paths} some stay")

    def apply(self, resources: Mapping[str, Mapping[str, Any]]) -> None:
        """Apply objects, by the paths of their lists, server-side as kubectl does."""
        for place, resource in resources.items():
            answer = self._server.apply(f"{place}/{resource['metadata']['name']}?fieldManager=kubectl", json.dumps(resource))
            assert answer.accepted, answer

    def version(self) -> int:
        """The version of everything that is stored now."""
        return int(self._server.get("/api/v1/namespaces?limit=1")["metadata"]["resourceVersion"])

    def made(self, resources: str, since: int, least: int) -> list[dict[str, Any]]:
        """Objects as they were when they were made, in that order; their versions tell it among all kinds.

        A busy server may not have listed all within the second that it is given, and is asked again where there are not *least*.
        """
        path = f"{resources}{'&' if '?' in resources else '?'}watch=1&resourceVersion={since}&timeoutSeconds=1"
        for _ in range(20):
            events = [json.loads(line) for line in self.kubectl("get", f"--raw={path}").splitlines()]
            found = [each["object"] for each in events if each["type"] == "ADDED"]
            if len(found) >= least:
                return found
        raise AssertionError(f"{resources}: only {len(found)} were made, not {least}: {events}")

    def state(self, application: str) -> State:
        status = self._application(application).get("status", {})
        sync, operation = status.get("sync", {}), status.get("operationState", {})
        resources = [f"{each['kind']} {each['name']}: {each.get('status')}" for each in status.get("resources", ())]
        return State(
            revision=sync.get("revision", ""),
            synced=operation.get("syncResult", {}).get("revision", "") if operation.get("phase") == "Succeeded" else "",
            sync=sync.get("status", ""),
            health=status.get("health", {}).get("status", ""),
            asked=next((each["value"] for each in operation.get("operation", {}).get("info", ())), ""),
            why=json.dumps([operation.get("phase"), operation.get("message"), status.get("conditions", []), resources]),
        )

    def becomes(self, application: str, revision: str, health: str) -> State:
        """Wait until a commit is synced and nothing differs from it, and until its objects are in that health."""

        def is_so() -> bool:
            found = self.state(application)
            return (found.revision, found.synced, found.sync, found.health) == (revision, revision, "Synced", health)

        self.waits_for(lambda: self._looked_at(application) and is_so(), lambda: f"{self.state(application)}, not {revision} {health}")
        return self.state(application)

    def syncs_again(self, application: str) -> None:
        """Sync what is synced, as by `argocd app sync`, and wait for the end."""
        asked = str(time.monotonic_ns())
        options = self._application(application)["spec"]["syncPolicy"]["syncOptions"]
        operation = {"info": [{"name": "asked", "value": asked}], "sync": {"prune": True, "syncOptions": options}}
        self._patch(application, {"operation": operation})

        def is_over() -> bool:
            found = self.state(application)
            return found.asked == asked and found.synced != ""

        self.waits_for(is_over, lambda: f"no end of a sync: {self.state(application)}")

    def refresh(self, application: str) -> None:
        """Have the application compared with its repository and the cluster."""
        self._patch(application, {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}})

    def _looked_at(self, application: str) -> bool:
        """Have the application compared, and wait until it is."""
        self.refresh(application)

        def is_done() -> bool:
            return "argocd.argoproj.io/refresh" not in self._application(application)["metadata"].get("annotations", {})

        self.waits_for(is_done, lambda: f"Argo CD does not look at {application}")
        return True

    def _application(self, name: str) -> dict[str, Any]:
        return self._server.get(f"{APPLICATIONS}/{name}")

    def _patch(self, application: str, patch: dict[str, Any]) -> None:
        answer = self._server.patch(f"{APPLICATIONS}/{application}", json.dumps(patch))
        assert answer.accepted, answer

    def waits_for(self, holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
        """Look again and again until something holds; the test fails with what is so instead where it never does."""
        deadline = time.monotonic() + _PATIENCE
        for turn in count(1):
            if holds():
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"after {_PATIENCE:.0f} s: {otherwise()}")
            time.sleep(min(0.1 * turn, 1))
