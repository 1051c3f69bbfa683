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
    screen.say(jobs[0], LINE.replace("5/", "20/"))
    console.print(screen._table())
    assert "step 20/20  loss 3.250  evaluation" in out.getvalue()
    assert "0 of 3 jobs over, 2 running, 1 queued" in text
    assert f"0 | {LINE}" not in text


def test_the_total_counts_evaluations_from_the_first_job_that_did_one(job, capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(screen_module.time, "monotonic", lambda: clock[0])
    jobs = [job(name=f"{i}_job") for i in range(4)]

    def lasts(seconds):
        clock[0] += seconds

    with Screen(jobs, 1) as screen:
        assert screen.left() is None
        screen.start(jobs[0])
        assert screen.left() is None
        lasts(10)
        screen.say(jobs[0], "step 10/20  loss 3.250  9 tokens/s  10 s left")
        assert "4 jobs over, 1 running, 3 queued, about 70 s and the ev" in screen._summary()
        lasts(10)
        screen.say(jobs[0], "step 20/20  loss 3.250  9 tokens/s  0 s left")
        lasts(40)
        screen.end(jobs[0], "completed")
        screen.start(jobs[1])
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "posexp: 1 of 4 jobs over, 0 running, 3 queued, about 3.0 min left",
        "[2/4] 1_job starts",
    ]
