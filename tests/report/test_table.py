import pytest
from rich.console import Console

from posexp.evaluation.statistics import Difference
from posexp.report.comparison import compare
from posexp.report.jobs import read_jobs
from posexp.report.table import beyond_table, difference_text, results_table


def text(table):
    console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def row(shown, word):
    return next(line for line in shown.splitlines() if word in line).split()


def comparison(sweep):
    return compare(read_jobs(sweep.path))[0]


def test_a_row_a_job_sorted_by_the_loss_at_t(messy_sweep):
    shown = text(results_table(comparison(messy_sweep)))
    names = ["rope", "hybrid", "alibi", "shaw", "sinusoidal", "learned", "t5", "nope"]
    places = [shown.index(f" {name} ") for name in [*names, "raw_index", "kaput"]]
    assert places == sorted(places)
    assert row(shown, " rope ")[4:10] == ["2.226", "2.227", "2.615", "3.186", "4.364", "best"]
    assert row(shown, " learned ")[6:9] == ["n/a"] * 3
    assert row(shown, "raw_index")[-6:] == [*"-----", "diverged"]
    assert "nan" not in shown.lower()


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (Difference(0.205, 0.013, 64), "+0.205 ± 0.013"),
        (Difference(0.030, 0.013, 64), "+0.030 ± 0.013\nwithin noise"),
        (Difference(-0.039, 0.013, 64), "-0.039 ± 0.013"),
        (Difference(0.002, 0.0002, 64), "+0.002 ± <0.001"),
        (Difference(0.205, None, 1), "+0.205\ns.e. unknown"),
    ],
)
def test_nothing_under_three_standard_errors_is_claimed(difference, expected):
    assert difference_text(difference) == expected


def test_several_seeds_show_each_and_their_mean_spread_and_interval(sweep):
    for seed, loss in enumerate([2.0, 2.1, 2.3]):
        sweep.write("rope", (loss,) * 5, seed=seed)
        sweep.write("alibi", (2.9 + [0.2, -0.1, 0.1][seed],) * 5, seed=seed)
    shown = text(results_table(comparison(sweep)))
    assert shown.count("completed") == 6
    assert row(shown, " mean ")[1] == "2.133" and "3 of 3 seeds" in shown
    assert row(shown, " spread ")[1] == "0.153"
    assert "± 0.379" in shown  # 4.303 x 0.153 / sqrt(3)
    # alibi minus rope: 1.1, 0.7, 0.7: a spread of 0.231 and a t-interval of 0.574.
    assert "+0.833" in shown and "0.231" in shown and "± 0.574" in shown
    assert "worse" in shown


def test_a_chosen_baseline_is_named(sweep):
    sweep.write("rope", (2.0, 2.1, 2.2, 2.3, 2.4))
    sweep.write("alibi", (2.5, 2.6, 2.7, 2.8, 2.9))
    (found,) = compare(read_jobs(sweep.path), "alibi")
    shown = text(results_table(found))
    assert "minus alibi" in shown and row(shown, "baseline")[-2:] == ["baseline", "completed"]
    assert "-0.500" in row(shown, " rope ")
    assert "minus alibi" in text(beyond_table(found))


def test_two_seeds_have_no_interval(sweep):
    for seed, loss in enumerate([2.0, 2.1]):
        sweep.write("rope", (loss,) * 5, seed=seed)
    assert "95 %" not in text(results_table(comparison(sweep)))


def test_beyond_t_tells_use_of_content_from_damage(messy_sweep):
    shown = text(beyond_table(comparison(messy_sweep)))
    # 2.227 - 4.364; foreign is 0.05 above its own everywhere.
    assert row(shown, "baseline")[-3:] == ["-2.137", "+0.050", "+2.187"]
    assert row(shown, "learned")[-1] == "n/a"
    # Best at T, and far from it here: its name stands there, not "best".
    assert "minus rope" in shown and row(shown, "baseline")[0] == "rope"


def test_out_of_memory_is_not_called_undefined(sweep):
    path = sweep.write("rope", (2.0, 2.1, 2.2, 2.3, None)) / "result.json"
    path.write_text(path.read_text().replace('"undefined"', '"memory"'))
    assert "(memory)" in text(results_table(comparison(sweep)))


def test_a_length_that_diverged_says_so_beside_one_that_is_undefined(sweep):
    sweep.write("rope", (2.0, 2.1, float("nan"), None, 2.4), status="diverged")
    found = comparison(sweep)
    assert row(text(results_table(found)), " rope ")[4:9] == [
        "2.000",
        "2.100",
        "diverged",
        "n/a",
        "2.400",
    ]
    assert found.ranks(256) == {"rope": 1} and found.ranks(512) == {}
