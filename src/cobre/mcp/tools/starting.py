"""Everything that a run is refused for before a process is started, and the arguments of that process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cobre.errors import CobreError
from cobre.mcp.limits import too_much
from cobre.mcp.roots import not_allowed
from cobre.mcp.tools.policies import check_policy

if TYPE_CHECKING:
    from cobre.mcp.runs import ManagedRun
    from cobre.mcp.service import Service
    from cobre.mcp.tools.running import RunArguments

__all__ = ["start"]

LONGEST_OVERRIDES = 100_000
"""Characters: no program takes an argument of more than 131,072."""


def start(service: Service, arguments: RunArguments) -> ManagedRun:
    """Start the run; raises before anything is written if it may not be started."""
    from cobre.study.queries.cases import examine_case

    roots = service.roots
    case_folder = roots.folder(arguments.case_dir)
    output = roots.new_path(arguments.output_dir or f"{arguments.case_dir.rstrip('/')}/output")
    _check_output(service, output, case_folder, arguments)
    case = examine_case(case_folder, arguments.config_overrides).valid_case(roots.shown(case_folder))
    check_policy(service, output / case.config.policy.path, "policy.path")
    if case.config.policy.boundary is not None:
        for place in (output, case_folder):
            check_policy(service, place / case.config.policy.boundary.path, "policy.boundary.path")
    return service.runs.start(case_folder, output, arguments.workers, _words(arguments))


def _check_output(service: Service, output: Path, case_folder: Path, arguments: RunArguments) -> None:
    if case_folder.is_relative_to(output):
        raise not_allowed("the results would lie over the case", "name a folder beside the case or below it")
    if output.exists():
        if not output.is_dir():
            raise not_allowed("output_dir is a file", "name a folder")
        service.roots.check_tree(output, may_have_links=False)
        _check_purpose(output)
    if arguments.overwrite and arguments.resume:
        raise CobreError("overwrite and resume exclude each other", suggestion="give one of them")
    if arguments.resume or arguments.overwrite or arguments.phases == "simulation":
        return
    if (output / "_SUCCESS").exists():
        raise not_allowed(
            f"{service.roots.shown(output)} holds the results of a finished run",
            "name another output_dir, or pass overwrite: true if they may be replaced",
        )


def _check_purpose(output: Path) -> None:
    """Results go into an empty folder, or over other results."""
    from cobre.io.write.training import METADATA
    from cobre.study.run_log import EVENTS, RUN
    from cobre.study.runs import CONSOLE

    is_of_run = any((output / name).is_file() for name in (METADATA, RUN, EVENTS, CONSOLE))
    if (output / "stages.json").exists() or (any(output.iterdir()) and not is_of_run):
        raise not_allowed(
            "output_dir holds a case or other files", "name a new folder, or one with results of a run"
        )


def _words(arguments: RunArguments) -> list[str]:
    """Arguments of ``cobre run``."""
    words = ["--no-progress", "--output-format", "json"]
    if arguments.phases == "training":
        words.append("--skip-simulation")
    elif arguments.phases == "simulation":
        words.append("--simulate-only")
    overrides = dict(arguments.config_overrides or {})
    if arguments.phases == "both":
        settings = overrides.get("simulation")
        overrides["simulation"] = {**(settings if isinstance(settings, dict) else {}), "enabled": True}
    if arguments.scenarios is not None and arguments.phases != "training":
        words += ["--scenarios", str(arguments.scenarios)]
    if overrides:
        text = json.dumps(overrides)
        if len(text) > LONGEST_OVERRIDES:
            raise too_much(
                f"config_overrides has {len(text)} characters, more than the {LONGEST_OVERRIDES} of this server",
                "write them into config.json",
            )
        words += ["--config-overrides", text]
    if arguments.phases != "simulation":
        words += ["--resume"] if arguments.resume else ["--fresh"] if arguments.overwrite else []
    return words
