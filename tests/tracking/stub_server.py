"""A stub of W&B's server, not a server: it speaks as much of the real client's protocol as needed.

It keeps what a run's file stream says, line by line at the offsets that the client gives, and lets
runs be resumed and artifacts be committed. It knows no users, no limits, no errors, and what a real
server does with lines that are written twice it does not tell.
"""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HISTORY = "wandb-history.jsonl"


class StubServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.runs, self.operations, self.views = {}, [], {}
        self.projects, self.files = [], {}
        self.refused = set()  # operations that are answered with an error

    def handle_error(self, request, client_address):
        """The client hangs up without saying goodbye."""

    def run(self, name):
        return self.runs.setdefault(name, {"lines": {}, "config": {}, "artifacts": []})

    def history(self, name):
        lines = self.runs[name]["lines"].get(HISTORY, {})
        return [json.loads(lines[n]) for n in sorted(lines)]

    def answer(self, operation, given):
        """What GraphQL says to one operation."""
        self.operations.append(operation)
        if operation == "UpsertBucket":
            run = self.run(given["name"])
            run |= {k: v for k, v in given.items() if v is not None and k != "config"}
            run["config"] |= json.loads(given.get("config") or "{}")
            project = {"name": given.get("project") or "posexp", "entity": {"name": "stub"}}
            bucket = {
                "id": f"id-{given['name']}", "name": given["name"], "project": project,
                "displayName": given.get("displayName"), "sweepName": None,
                "historyLineCount": len(run["lines"].get(HISTORY, {})),
            }  # fmt: skip
            return {"upsertBucket": {"bucket": bucket, "inserted": True}}
        if operation == "RunResumeStatus":
            return {"model": {"id": "m", "name": "posexp", "bucket": self.resumed(given["name"])}}
        if operation == "CreateRunFiles":
            files = [{"name": n, "uploadUrl": f"{self.url}/put/{n}"} for n in given["files"]]
            return {"createRunFiles": {"runID": given["run"], "uploadHeaders": [], "files": files}}
        if operation == "CreateArtifact":
            given = given["input"]
            self.run(given["runName"])["artifacts"].append(given)
            artifact = {"id": "a", "state": "PENDING", "artifactSequence": {"id": "s"}}
            return {"createArtifact": {"artifact": artifact | {"artifactSequence": {
                "id": "s", "latestArtifact": None}}}}  # fmt: skip
        if operation == "CreateArtifactManifest":
            file = {"id": "f", "uploadUrl": f"{self.url}/put/manifest", "uploadHeaders": []}
            manifest = {"id": "m", "file": file | {"name": "m", "displayName": "m"}}
            return {"createArtifactManifest": {"artifactManifest": manifest}}
        if operation == "CreateArtifactFiles":
            edges = [
                {"node": {
                    "id": "f", "name": f["name"], "displayName": f["name"], "storagePath": "x",
                    "uploadUrl": f"{self.url}/put/{f['name']}", "uploadHeaders": [],
                    "uploadMultipartUrls": None, "artifact": {"id": "a"},
                }}
                for f in given["input"]["artifactFiles"]
            ]  # fmt: skip
            return {"createArtifactFiles": {"files": {"edges": edges}}}
        if operation == "CommitArtifact":
            return {"commitArtifact": {"artifact": {"id": "a", "digest": "d"}}}
        if operation in ("Viewer", "GetDefaultEntity"):
            return {"viewer": {"id": "v", "entity": "stub", "username": "stub", "flags": "{}",
                               "teams": {"edges": []}}}  # fmt: skip
        if operation == "ServerFeaturesQuery":
            return {"serverInfo": {"features": []}}
        if operation == "ArtifactType":
            return {"project": None}
        return self.answer_about_views(operation, given)

    def answer_about_views(self, operation, given):
        """Projects, workspaces and reports."""
        if operation == "GetProjects":
            page = {"endCursor": None, "hasNextPage": False}
            nodes = [
                {"id": "p", "name": name, "entityName": "stub", "createdAt": "2026-01-01",
                 "isBenchmark": False, "user": None}
                for name in self.projects
            ]  # fmt: skip
            return {
                "models": {"pageInfo": page, "edges": [{"node": n, "cursor": ""} for n in nodes]}
            }
        if "input" in given and operation.lower() in ("createproject", "upsertmodel"):
            self.projects.append(given["input"]["name"])
            return {"upsertModel": {"project": {"id": "p"}, "model": {"id": "p"}, "inserted": True}}
        if operation in ("View", "ProjectViews"):
            kind, name = given.get("viewType", "runs"), given.get("viewName")
            edges = [
                {"node": view, "cursor": ""}
                for view in self.views.values()
                if view["type"] == kind and name in (None, view["name"])
            ]
            page = {"endCursor": None, "hasNextPage": False}
            return {"project": {"allViews": {"edges": edges, "pageInfo": page}}}
        if operation == "ProjectInternalId":
            return {"project": {"id": "p", "internalId": "1"}}
        if operation.lower().startswith("upsertview"):
            number = given.get("id") or f"view{len(self.views)}"
            inserted = number not in self.views
            project = {"name": given["projectName"], "entityName": given["entityName"]}
            view = {**given, "id": number, "project": project, "user": None,
                    "createdAt": None, "updatedAt": None}  # fmt: skip
            self.views[number] = view
            return {"upsertView": {"view": view, "inserted": inserted}}
        return {}

    def resumed(self, name):
        if name not in self.runs:
            return None
        run, history = self.run(name), self.history(name)
        return {
            "id": f"id-{name}", "name": name, "displayName": run.get("displayName"), "tags": [],
            "historyLineCount": len(history), "eventsLineCount": 0, "logLineCount": 0,
            "historyTail": json.dumps([json.dumps(history[-1])] if history else []),
            "eventsTail": "[]", "summaryMetrics": json.dumps(history[-1] if history else {}),
            "config": json.dumps(run["config"]), "wandbConfig": '{"t": {}}',
        }  # fmt: skip

    def stream(self, name, body):
        run = self.run(name)
        for file, chunk in (body.get("files") or {}).items():
            lines = run["lines"].setdefault(file, {})
            for n, line in enumerate(chunk["content"], start=chunk["offset"]):
                lines[n] = line
        if body.get("complete"):
            run["exitcode"] = body.get("exitcode")
        return {"limits": {}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self._body()
        if self.path.endswith("/file_stream"):
            self._reply(self.server.stream(self.path.split("/")[-2], json.loads(body or "{}")))
            return
        asked = json.loads(body)
        operation = re.search(r"(?:query|mutation)\s+(\w+)", asked["query"])[1]
        if operation in self.server.refused:
            self._reply({"errors": [{"message": "refused"}]}, status=403)
            return
        self._reply({"data": self.server.answer(operation, asked.get("variables") or {})})

    def do_PUT(self):
        self.server.files[self.path.removeprefix("/put/")] = self._body()
        self._reply({})

    def do_GET(self):
        self._reply({})

    def log_message(self, *_):
        pass

    def _body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        return body

    def _reply(self, value, status=200):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving():
    server = StubServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
