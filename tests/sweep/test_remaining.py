"""Courses of jobs by hand: seconds of training, of evaluation, and what is left of them."""

from posexp.sweep.progress import Progress
from posexp.sweep.remaining import Course, Remaining, remaining


def course(began, *told, ended=None):
    """`told` are (time, step of 10, seconds left)."""
    made = Course(began)
    for now, step, left in told:
        made.tell(Progress(step, 10, 2.5, left), now)
    made.ended = ended
    return made


#: 20 s of training, the start of its process included, and 6 s of evaluation.
DONE = course(0, (10, 5, 10), (20, 10, 0), ended=26)


def test_nothing_is_known_before_a_job_has_said_anything():
    assert remaining([], [], 4, 2, now=5) is None
    assert remaining([], [course(0)], 3, 2, now=5) is None


def test_before_a_job_has_ended_only_the_training_is_counted():
    running = [course(0, (4, 4, 6))]
    assert remaining([], running, 0, 1, now=5) == Remaining(5, evaluation=False)
    # The others take 10 s each, as this one will have.
    assert remaining([], running, 3, 1, now=5) == Remaining(35, evaluation=False)
    assert remaining([], running, 3, 2, now=5) == Remaining(17.5, evaluation=False)


def test_the_evaluation_takes_as_long_as_in_the_jobs_that_ended():
    other = course(0, (10, 10, 0), ended=18)  # 8 s of it
    at_step_4, evaluating = course(30, (44, 4, 6)), course(30, (41, 10, 0))
    assert remaining([DONE], [at_step_4], 0, 1, now=45) == Remaining(5 + 6, evaluation=True)
    assert remaining([DONE, other], [at_step_4], 0, 1, now=45) == Remaining(5 + 7, evaluation=True)
    assert remaining([DONE], [evaluating], 0, 1, now=45) == Remaining(6 - 4, evaluation=True)
    assert remaining([DONE], [evaluating], 0, 1, now=99) == Remaining(0, evaluation=True)


def test_jobs_that_have_said_nothing_take_as_long_as_those_that_ended():
    silent = course(30)
    assert remaining([DONE], [silent], 0, 1, now=40) == Remaining(26 - 10, evaluation=True)
    assert remaining([DONE], [silent], 2, 1, now=40) == Remaining(16 + 52, evaluation=True)
    assert remaining([DONE], [silent], 2, 2, now=40) == Remaining(34, evaluation=True)


def test_the_longest_job_is_waited_for_however_many_run_at_once():
    running = [course(0, (10, 1, 90)), course(0, (10, 10, 0))]
    assert remaining([], running, 0, 2, now=10) == Remaining(90, evaluation=False)
