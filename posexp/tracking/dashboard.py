"""`posexp wandb dashboard`: a workspace and a report with the panels of a position study.

The definitions are made without a network. wandb-workspaces gives them away only by `_to_model`,
which is private: the extra `dashboard` pins its version.
"""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from posexp.files import dump_json
from posexp.tracking import names
from posexp.tracking.mode import wandb_mode
from posexp.tracking.panels import SECTIONS

TITLE = "posexp: position encodings"
DEFAULT_FILE = Path("posexp-dashboard.json")
#: Runs that a table lists beside the failures.
UNFINISHED = f"State != 'finished' or SummaryMetric('{names.DIVERGED}') = 1"


def dashboard(
    project: str = "posexp",
    entity: str | None = None,
    out: Path | None = None,
    group_by: str = names.SETTING,
) -> None:
    """Make or update the workspace and the report of a project; or write what they would be.

    With `out`, or when nobody is logged in, the definitions go into a JSON file instead.
    `group_by` is a key of the config: runs that share its value are one line.

    Raises `ValueError` if wandb-workspaces is missing, `FileExistsError` if the file exists.
    """
    if find_spec("wandb_workspaces") is None:
        raise ValueError("the dashboard needs wandb-workspaces: pip install 'posexp[dashboard]'")
    online = out is None and wandb_mode("auto") == "online"
    if online:
        for url in save(project, entity, group_by):
            print(url)
        return
    path = out or DEFAULT_FILE
    if path.exists():
        raise FileExistsError(f"{path} exists: choose another file with --out FILE")
    path.write_text(dump_json(definitions(project, entity, group_by)), encoding="utf-8")
    why = "" if out else "not online (wandb login), so "
    print(f"{why}the definitions of the workspace and the report are in {path}")


def definitions(
    project: str, entity: str | None = None, group_by: str = names.SETTING
) -> dict[str, Any]:
    """The workspace and the report as W&B's server takes them."""
    return {
        "workspace": _plain(workspace(project, entity or "", group_by)),
        "report": _plain(report(project, entity or "", group_by)),
    }


def workspace(project: str, entity: str, group_by: str) -> Any:
    """A `wandb_workspaces.workspaces.Workspace`, its runs grouped as its panels are."""
    import wandb_workspaces.workspaces as ws
    from wandb_workspaces import expr

    sections = [
        ws.Section(name=name, panels=[p.build(group_by) for p in panels], is_open=True)
        for name, panels in SECTIONS.items()
    ]
    runs = ws.RunsetSettings(
        groupby=[expr.Config(group_by)],
        pinned_columns=["run:displayName", "run:state", f"summary:{names.STATUS}"],
    )
    settings = ws.WorkspaceSettings(max_runs=100)
    made = ws.Workspace(
        project=project,
        entity=entity,
        name=TITLE,
        sections=sections,
        settings=settings,
        runset_settings=runs,
    )
    # A name of its own, so that the next call finds it and updates it.
    made._internal_name = f"nw-{hashlib.sha1(f'{entity}/{project}'.encode()).hexdigest()[:11]}-v"
    return made


def report(project: str, entity: str, group_by: str, runs_at: dict[str, str] | None = None) -> Any:
    """A `wandb_workspaces.reports.v2.Report` of the same panels; failures with a table of runs.

    `runs_at` is the entity and project of the runs, which wandb-workspaces asks the server about.
    """
    import wandb_workspaces.reports.v2 as wr

    blocks: list[Any] = [
        wr.P(
            f"Lines are means over runs with the same {group_by}, with a band of one standard "
            "deviation: over seeds, if nothing else differs. Losses at different lengths are of "
            "the same target bytes."
        )
    ]
    for name, panels in SECTIONS.items():
        shown = {"name": "Not finished, or diverged", "filters": UNFINISHED}
        runs = wr.Runset(**(shown if name == "Failures" else {}), **(runs_at or {}))
        if name == "Failures":
            runs.pinned_columns = ["run:state", f"summary:{names.STATUS}", f"summary:{names.ERROR}"]
        placed = [
            panel.build(group_by, x=12 * (i % 2), y=8 * (i // 2), w=12, h=8)
            for i, panel in enumerate(panels)
        ]
        blocks += [wr.H2(name), wr.PanelGrid(runsets=[runs], panels=placed)]
    return wr.Report(
        project=project, entity=entity, title=TITLE, blocks=blocks, width="fluid",
        description="Loss against length by scheme, far retrieval, cost and failures",
    )  # fmt: skip


def save(project: str, entity: str | None, group_by: str) -> list[str]:
    """Make or update both on the server; gives their addresses."""
    import wandb
    from wandb_workspaces.workspaces.internal import View

    api = wandb.Api()
    entity = entity or api.default_entity
    if project not in {found.name for found in api.projects(entity)}:
        api.create_project(project, entity)
    view = workspace(project, entity, group_by)
    try:
        view._internal_id = View.from_name(entity, project, view._internal_name).id
    except ValueError:  # there is none yet
        view._internal_id = ""
    text = report(project, entity, group_by, {"entity": entity, "project": project})
    for found in api.reports(f"{entity}/{project}"):
        if found.display_name == TITLE:
            text.id = found.id
    return [view.save().url, text.save().url]


def _plain(made: Any) -> dict[str, Any]:
    return json.loads(made._to_model().model_dump_json(by_alias=True, exclude_none=True))
