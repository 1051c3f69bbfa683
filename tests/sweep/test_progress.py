import json

from posexp.status import begin, read_status, record
from posexp.sweep.progress import Progress, parse, read_progress

LINE = "step 6/20  loss 5.365  1,451 tokens/s  7 s left"


def steps_of(job, steps):
    job.config["trainer"]["max_steps"] = steps
    job.directory.mkdir(exist_ok=True)
    return job


def test_a_line_that_tells_of_progress_and_others(job):
    assert parse(LINE) == Progress(6, 20, 5.365, left=7)
    assert parse(LINE).share == 0.3
    assert parse("step 6/20  loss nan  1 tokens/s  0 s left") == Progress(6, 20, None, left=0)
    assert parse("step 6/20  loss 1.5") == Progress(6, 20, 1.5)
    assert parse("precision 32-true on cpu (1 device(s), 1 thread(s))") is None


def test_the_last_line_of_the_last_attempt_tells(job):
    one = steps_of(job(), 20)
    begin(one.directory)
    one.log.write_text(f"{LINE}\n\n==== attempt 2, 2026-01-31T12:00:00 ====\nhello\n")
    assert read_progress(one, read_status(one.directory)) == Progress(0, 20)
    one.log.write_text(f"{LINE}\n{LINE.replace('6/', '8/')}\nbye\n")
    assert read_progress(one, read_status(one.directory)).step == 8


def test_without_lines_the_metrics_tell(job):
    """A single run on a terminal shows a bar."""
    one = steps_of(job(), 20)
    begin(one.directory)
    (one.directory / "metrics.csv").write_text("step,train/loss,val/loss\n1,5.5,\n3,5.25,\n3,,6\n")
    assert read_progress(one, read_status(one.directory)) == Progress(3, 20, 5.25)


def test_an_ended_job_has_a_result(job):
    one = steps_of(job(), 20)
    begin(one.directory)
    record(one.directory, "completed", 0)
    result = {"training": {"steps": 20, "train_loss": 2.5}}
    (one.directory / "result.json").write_text(json.dumps(result))
    assert read_progress(one, read_status(one.directory)) == Progress(20, 20, 2.5)
