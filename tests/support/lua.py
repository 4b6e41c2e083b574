"""Lua scripts of Argo CD, run as Argo CD runs them: Lua 5.1 with the object as `obj`, and no libraries but the basic one and `table`.

Follows runLuaWithResourceActionParameters, argo-cd util/lua, 3.2.6.
"""

from typing import Any

from lupa import lua51

_ONLY_WHAT_ARGO_CD_OPENS = """\
debug.setmetatable("", nil)
for _, name in ipairs({"coroutine", "debug", "io", "math", "os", "package", "require", "module", "string"}) do _G[name] = nil end
"""


def health(script: str, resource: dict[str, Any]) -> dict[str, str]:
    """The health of an object: a status and a message."""
    runtime = lua51.LuaRuntime()
    runtime.execute(_ONLY_WHAT_ARGO_CD_OPENS)
    runtime.globals()["obj"] = runtime.table_from(resource, recursive=True)
    return dict(runtime.execute(script))
