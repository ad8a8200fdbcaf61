"""Resources: cases and results as JSON, by templates and, for hosts that expand none, as a list."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.server.mcpserver.server import MCPServer
from mcp_types import Resource

from cobre.errors import CobreError
from cobre.mcp.catalogue import find
from cobre.mcp.failures import unexpected
from cobre.mcp.limits import too_much
from cobre.mcp.roots import not_allowed, read_regular
from cobre.mcp.service import Service
from cobre.mcp.settings import DEFAULT_LIMIT
from cobre.mcp.texts import clean, error_text, fitting, name, printable

__all__ = ["add_templates", "listed"]

JSON = "application/json"
TIMEOUT_S = 60.0
EXPORTED = {
    ".csv": "text/csv",
    ".jsonl": "application/jsonl",
    ".html": "text/html",
    ".arrow": "application/octet-stream",
}
MOST_EXPORTED_BYTES = 1_000_000
SHORTEST_ITERATION = 100
"""Bytes of an iteration in an answer, at least."""

Reader = Callable[..., Awaitable[str | bytes]]


def add_templates(server: MCPServer[Any], service: Service) -> None:
    """Register the templates; paths in them are percent-encoded as a whole, slashes included."""
    own_checks = ResourceSecurity(exempt_params={"case_dir", "output_dir", "path", "entity_type"})

    def add(uri: str, title: str, read: Reader, mime_type: str = JSON) -> None:
        server.resource(uri, name=title, title=title, mime_type=mime_type, security=own_checks)(read)

    async def config(case_dir: str) -> str | bytes:
        """config.json of a case."""
        return await _read(service, _config, case_dir)

    async def entities(case_dir: str, entity_type: str) -> str | bytes:
        """The entities of a kind: buses, lines, thermals, hydros, non_controllables, pumping_stations, contracts."""
        return await _read(service, _entities, case_dir, entity_type)

    async def scenarios(case_dir: str, entity_id: str) -> str | bytes:
        """Statistics of the inflow of one hydro, by stage."""
        return await _read(service, _scenarios, case_dir, entity_id)

    async def convergence(output_dir: str) -> str | bytes:
        """Bounds and times of the iterations of a training."""
        return await _read(service, _convergence, output_dir)

    async def results(output_dir: str, entity_type: str) -> str | bytes:
        """The first rows of a table of a simulation."""
        return await _read(service, _results, output_dir, entity_type)

    async def policy(output_dir: str) -> str | bytes:
        """Stages, state and cuts of a policy."""
        return await _read(service, _policy, output_dir)

    async def export(path: str) -> str | bytes:
        """A file that cobre_export_results or cobre_report wrote."""
        return await _read(service, _export, path)

    add("cobre://case/{case_dir}/config", "case-config", config)
    add("cobre://case/{case_dir}/entities/{entity_type}", "case-entities", entities)
    add("cobre://case/{case_dir}/scenarios/{entity_id}", "case-scenarios", scenarios)
    add("cobre://output/{output_dir}/convergence", "output-convergence", convergence)
    add("cobre://output/{output_dir}/results/{entity_type}", "output-results", results)
    add("cobre://output/{output_dir}/policy/summary", "output-policy", policy)
    add("cobre://export/{path}", "export", export, "application/octet-stream")


def listed(service: Service) -> list[Resource]:
    """Resources of the cases and results that are there now."""
    found = []
    for each in find(service.roots):
        shown = service.roots.shown(each.path)
        base = f"cobre://{each.kind}/{quote(shown, safe='')}"
        parts = {"config": "settings"} if each.kind == "case" else _output_parts(each.path)
        for part, what in parts.items():
            found.append(
                Resource(
                    uri=f"{base}/{part}", name=f"{name(shown)}: {what}", mime_type=JSON, description=what
                )
            )
    return found


def _output_parts(folder: Any) -> dict[str, str]:
    parts = {}
    if (folder / "training" / "convergence.parquet").is_file():
        parts["convergence"] = "bounds by iteration"
    if (folder / "policy").is_dir():
        parts["policy/summary"] = "size of the policy"
    if (folder / "simulation" / "metadata.json").is_file():
        parts["results/costs"] = "costs of the simulation"
    return parts


async def _read(service: Service, read: Callable[..., str | bytes], *arguments: str) -> str | bytes:
    try:
        service.rate.take()
        with service.at_once, anyio.fail_after(TIMEOUT_S):
            return await anyio.to_thread.run_sync(partial(read, service, *arguments), abandon_on_cancel=True)
    except CobreError as error:
        raise ResourceError(error_text(error, service.roots)) from None
    except TimeoutError:
        late = too_much(f"reading took longer than {TIMEOUT_S:.0f} s", "ask for a part of it with a tool")
        raise ResourceError(error_text(late, service.roots)) from None
    except Exception as error:
        raise ResourceError(error_text(unexpected(error, "reading"), service.roots)) from None


def _document(service: Service, content: Any) -> str:
    text = json.dumps(printable(content), allow_nan=False, separators=(",", ":"))
    if len(text) > service.settings.max_bytes:
        raise CobreError(
            f"the resource has {len(text)} bytes, more than the {service.settings.max_bytes} of this server",
            kind="LimitExceeded",
            suggestion="ask for a part of it with a tool",
        )
    return text


def _config(service: Service, case_dir: str) -> str:
    from cobre.mcp.tools.cases import case_config

    return _document(service, case_config(service, case_dir))


def _entities(service: Service, case_dir: str, entity_type: str) -> str:
    from cobre.study.queries.cases import entity_rows, examine_case

    folder = service.roots.folder(case_dir)
    case = examine_case(folder).valid_case(service.roots.shown(folder))
    rows = clean(entity_rows(case, entity_type), service.roots)
    shown = fitting(rows, service.settings.max_bytes // 2)
    return _document(
        service, {"entities": shown, "total_rows": len(rows), "truncated": len(shown) < len(rows)}
    )


def _scenarios(service: Service, case_dir: str, entity_id: str) -> str:
    from cobre.study.queries.cases import examine_case, inflow_rows

    if not (entity_id.isascii() and entity_id.isdecimal() and len(entity_id) <= 9):
        raise CobreError(
            f"{name(entity_id)} is no id of a hydro", kind="TypeMismatch", suggestion="give a whole number"
        )
    folder = service.roots.folder(case_dir)
    case = examine_case(folder).valid_case(service.roots.shown(folder))
    rows = clean(inflow_rows(case, int(entity_id)), service.roots)
    shown = fitting(rows, service.settings.max_bytes // 2)
    return _document(
        service,
        {
            "entity_id": int(entity_id),
            "stages": shown,
            "total_rows": len(rows),
            "truncated": len(shown) < len(rows),
        },
    )


def _convergence(service: Service, output_dir: str) -> str:
    from cobre.mcp.tools.results import convergence_table

    record, table = convergence_table(service, output_dir)
    max_bytes = service.settings.max_bytes // 2
    first = table.slice(0, max_bytes // SHORTEST_ITERATION)
    shown = fitting(clean(first.to_pylist(), service.roots), max_bytes)
    return _document(
        service,
        {
            "iterations": shown,
            "total_iterations": len(table),
            "truncated": len(shown) < len(table),
            "termination_reason": record.metadata.get("termination_reason"),
        },
    )


def _results(service: Service, output_dir: str, entity_type: str) -> str:
    from cobre.mcp.tools.results import Filters, QueryArguments, query_results
    from cobre.study.queries.rows import table_name

    table_name(entity_type)  # refuses what is no table
    arguments = QueryArguments.model_construct(
        output_dir=output_dir,
        entity_type=entity_type,
        filters=Filters(limit=DEFAULT_LIMIT),
        aggregate=None,
        cursor=None,
    )
    return _document(service, query_results(service, arguments).model_dump(mode="json"))


def _policy(service: Service, output_dir: str) -> str:
    from cobre.mcp.tools.policies import policy_facts

    return _document(service, policy_facts(service, output_dir).model_dump(mode="json", exclude={"stage"}))


def _export(service: Service, path: str) -> bytes:
    found = service.roots.path(path)
    if found.suffix not in EXPORTED:
        raise not_allowed(
            "only exported tables and reports are read as files", f"end in {', '.join(EXPORTED)}"
        )
    try:
        return read_regular(found, MOST_EXPORTED_BYTES)
    except OSError as error:
        raise CobreError("there is no such file", kind="MissingFile", suggestion="export it first") from error
