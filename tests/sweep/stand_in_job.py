"""Takes the place of `posexp.job`: it does at once what its config's `stand_in` says."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

directory = Path(sys.argv[1])
config = json.loads((directory / "config.json").read_text())
what = config.get("stand_in", {}).get(str(config["seed"]), "complete")


def say(status, returncode, error=None):
    path = directory / "status.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    record = {"status": status, "returncode": returncode, "seconds": 0.1, "error": error}
    path.write_text(json.dumps(known | record))


def stop(number, frame):
    if what == "deaf":
        return
    print("saved", flush=True)
    say("interrupted", 130)
    sys.exit(130)


signal.signal(signal.SIGINT, stop)
(directory / "seen.json").write_text(json.dumps({"pid": os.getpid(), "env": dict(os.environ)}))
say("running", None)
print(f"this is {directory.name}", flush=True)
if what == "raise":
    try:
        {"a": 1}[f"missing in seed {config['seed']}"]
    except KeyError as error:
        say("failed", 1, repr(error))
        raise
if what == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if what == "silent":  # ends without a word about how
    sys.exit(0)
if what == "orphan":  # a child that holds the pipe open
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
if what == "bar":
    print("1%\r50%\r100%", flush=True)
if what in ("wait", "deaf") or (what == "wait once" and not (directory / "waiting").exists()):
    (directory / "waiting").touch()
    while True:
        time.sleep(0.02)
say("diverged" if what == "diverge" else "completed", 0)
