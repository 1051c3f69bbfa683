import itertools

from posexp.report.jobs import Job
from posexp.report.row import TrainingCurve
from posexp.report.training import training_curve


def curve(path):
    return training_curve(Job("0_rope", path, "completed", config={"seed": 3}))


def test_steps_with_the_training_and_the_validation_loss(tmp_path):
    (tmp_path / "metrics.csv").write_text(
        "epoch,step,train/gradient_norm,train/loss,val/bits_per_byte\n"
        "0,19,0.9,3.5,\n0,39,0.8,3.0,\n0,39,,,4.1\n0,40,,nan,\n"
    )
    assert curve(tmp_path) == TrainingCurve("0_rope", "3", ((19, 3.5), (39, 3.0)), ((39, 4.1),))


def test_a_resumed_job_is_one_line_and_what_was_trained_again_replaces_the_first(tmp_path):
    (tmp_path / "metrics.part1.csv").write_text("step,train/loss\n10,3.5\n20,3.0\n30,2.8\n")
    (tmp_path / "metrics.part2.csv").write_text("step,train/loss\n30,2.9\n40,2.5\n")
    (tmp_path / "metrics.csv").write_text("step,train/loss\n50,2.4\n")
    steps = ((10, 3.5), (20, 3.0), (30, 2.9), (40, 2.5), (50, 2.4))
    assert curve(tmp_path).train == steps


def test_long_runs_are_thinned_between_their_ends(tmp_path):
    lines = "".join(f"{n},{n / 1000}\n" for n in range(1000))
    (tmp_path / "metrics.csv").write_text("step,train/loss\n" + lines)
    points = curve(tmp_path).train
    assert len(points) == 120 and points[0] == (0, 0.0) and points[-1] == (999, 0.999)
    gaps = {b[0] - a[0] for a, b in itertools.pairwise(points)}
    assert gaps == {8, 9}


def test_nothing_logged_or_a_broken_file_is_no_line(tmp_path):
    assert curve(tmp_path) is None
    (tmp_path / "metrics.csv").write_bytes(b"\xff\xfe\x00")
    assert curve(tmp_path) is None
