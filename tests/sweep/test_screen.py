import io

from rich.console import Console

from posexp.sweep import screen as screen_module
from posexp.sweep.screen import Screen

LINE = "step 5/20  loss 3.250  9 tokens/s  1 s left"


def test_elsewhere_than_on_a_terminal_every_line_is_printed(job, capsys):
    jobs = [job(name=f"{i}_job") for i in range(2)]
    with Screen(jobs, 1) as screen:
        screen.start(jobs[0])
        screen.say(jobs[0], LINE)
        screen.end(jobs[0], "completed")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["[1/2] 0_job starts", f"0 | {LINE}", "[1/2] 0_job completed"]
    assert lines[3].startswith("posexp: 1 of 2 jobs over, 0 running, 1 queued, about ")


def test_on_a_terminal_a_line_a_job_and_a_total(job, monkeypatch):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    jobs = [job(name=f"{i}_job") for i in range(3)]
    with Screen(jobs, 2, console) as screen:
        screen.start(jobs[0])
        screen.start(jobs[1])
        screen.say(jobs[0], LINE)
        screen.say(jobs[1], "[hello] from the job")
        console.print(screen._table())
    text = out.getvalue()
    for part in ("25%", "step 5/20", "loss 3.250", "starting", "1 | [hello] from the job"):
        assert part in text
    assert "0 of 3 jobs over, 2 running, 1 queued" in text
    assert f"0 | {LINE}" not in text


def test_what_is_left_goes_as_what_is_done(job, monkeypatch):
    now = iter([100.0, 110.0, 130.0])
    monkeypatch.setattr(screen_module.time, "monotonic", lambda: next(now))
    jobs = [job(name=f"{i}_job") for i in range(4)]
    screen = Screen(jobs, 1)
    assert screen.left() is None
    screen._running = {"0_job": screen_module.parse(LINE.replace("5/", "10/"))}
    assert screen.left() == 10 / 0.5 * 3.5
    screen._running, screen._ended = {}, 3
    assert screen.left() == 30 / 3
