"""A server that starts quickly: what the first answer does not need is imported later, and works then."""

from __future__ import annotations

import json
import sys

import pytest

from agents.served import content, quiet_stdio, talk
from commands import run_command

pytestmark = pytest.mark.timeout(300)

LATE = """
import sys
from cobre.mcp.late_imports import importing_later
sys.path.insert(0, sys.argv[1])
with importing_later("plants"):
    from plants.water import Hydro, power
    import plants.water as water
    assert "HEAVY" not in vars(sys.modules["plants.water"])
    either = Hydro | None
    assert not hasattr(Hydro, "__typing_subst__")
assert not [name for name in sys.modules if name.startswith("plants")]
assert power(2) == 20 and sys.modules["plants.water"].HEAVY
import plants.water as now
assert isinstance(Hydro(), now.Hydro) and isinstance(now.Hydro(), Hydro) and not isinstance(1, Hydro)
assert issubclass(now.Hydro, Hydro) and water.power(3) == 30 and Hydro.title == "hydro"
assert isinstance(now.Hydro(), now.Hydro | None)
from pydantic import TypeAdapter
assert isinstance(TypeAdapter(either).validate_python({}), now.Hydro)
assert TypeAdapter(either).validate_python(None) is None
class Run(Hydro):
    pass
assert Run.__bases__ == (now.Hydro,)
"""

USED_AT_ONCE = """
import sys
from cobre.mcp.late_imports import importing_later
sys.path.insert(0, sys.argv[1])
with importing_later("plants", "json"):
    import json
    from plants.water import Hydro
    class River(Hydro):
        pass
    import plants.water
    assert plants.water.HEAVY and River.__bases__ == (plants.water.Hydro,)
    from plants.heat import Thermal
assert json.dumps([1]) == "[1]"
assert Thermal is sys.modules["plants.heat"].Thermal
"""


@pytest.mark.parametrize("program", [LATE, USED_AT_ONCE], ids=["late", "used at once"])
def test_a_late_import_gives_what_an_import_gives(tmp_path, program):
    package = tmp_path / "plants"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "heat.py").write_text("class Thermal:\n    pass\n")
    (package / "water.py").write_text(
        "from pydantic import BaseModel\n"
        "HEAVY = True\n"
        "class Hydro(BaseModel):\n    size: int = 1\nHydro.title = 'hydro'\n"
        "def power(flow):\n    return 10 * flow\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]
    ran = run_command(words, timeout=200)
    assert ran.returncode == 0, ran.stderr


IMPORTED = """
import sys, json
from cobre.mcp.quick_start import quick_imports
with quick_imports(over_http=sys.argv[1] == "http"):
    import cobre.mcp.main
print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_modules_for_http_are_imported_for_http_only(transport):
    words = [sys.executable, "-c", IMPORTED, transport]
    ran = run_command(words, timeout=200, check=True)
    imported = set(json.loads(ran.stdout))
    assert {"mcp.server.mcpserver.server", "mcp_types", "cobre.mcp.server"} <= imported
    over_http = {"starlette", "uvicorn", "httpx2", "mcp.client", "mcp.server.streamable_http_manager"}
    assert imported & over_http == (over_http if transport == "http" else set())
    assert not imported & {"numpy", "pyarrow", "rich", "cobre.study.cases"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_either_protocol_uses_everything_over_stdio(tmp_path, mode):
    folder = tmp_path.resolve()

    async def conversation(client):
        assert len((await client.list_tools()).tools) == 17
        assert len((await client.list_resource_templates()).resource_templates) == 7
        assert (await client.list_resources()).resources == []
        assert len((await client.list_prompts()).prompts) == 4
        prompt = await client.get_prompt("setup-study", {"description": "two rivers"})
        assert "two rivers" in prompt.messages[0].content.text
        return content(await client.call_tool("cobre_list_runs", {}))

    found = talk(quiet_stdio("--allowed-dirs", folder, "--confine", "auto"), conversation, mode=mode)
    assert found == {"runs": [], "truncated": False}
