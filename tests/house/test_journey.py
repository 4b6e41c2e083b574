"""How far a command travels through our modules: how many it enters, and how often a call goes from one module to another."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.reference import ROOT

_GUIDES = ROOT / "tests" / "cases" / "guides"
#: Runs a command line and prints, behind its output, the modules that it enters and the calls that enter another module than the last one.
#: Comprehensions and the bodies of modules do not count.
_TRACE = """
import sys
from jobspec import cli
package = cli.__file__.removesuffix("cli.py")
modules, changes, last = set(), 0, ""
def trace(frame, event, _):
    global changes, last
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(package) or code.co_name.startswith("<"):
        return
    modules.add(code.co_filename)
    if code.co_filename != last:
        changes, last = changes + 1, code.co_filename
sys.setprofile(trace)
try:
    cli.main(sys.argv[1:])
finally:
    sys.setprofile(None)
    print(len(modules), changes, file=sys.stderr)
"""


_PROJECT = """
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  variants:
    - {name: a, base: simple.yaml, overlays: [cpu]}
    - {name: b, base: simple.yaml, overlays: [gpu-nccl]}
"""


@pytest.mark.parametrize(
    ("arguments", "modules", "changes"),
    [
        (("validate", "simple.yaml"), 25, 140),
        (("lint", "simple.yaml"), 44, 440),
        (("render", "simple.yaml", "--overlay", "cpu"), 33, 355),
        (("render",), 56, 1000),
    ],
    ids=["validate", "lint", "render with an overlay", "render two variants"],
)
def test_a_command_stays_in_few_modules(arguments: tuple[str, ...], modules: int, changes: int, tmp_path: Path) -> None:
    shutil.copy(_GUIDES / "simple.yaml", tmp_path)
    (tmp_path / "jobspec.yaml").write_text(_PROJECT)
    done = subprocess.run([sys.executable, "-c", _TRACE, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
    entered, changed = map(int, done.stderr.splitlines()[-1].split())
    assert entered <= modules
    assert changed <= changes
