"""Several directories read as one."""

import json

import pytest
from rich.console import Console

from posexp.cli import main
from posexp.report import report
from posexp.report.comparison import compare
from posexp.report.sweeps import read_sweeps, shortest_ends

LENGTHS_512 = {"evaluation": {"lengths": [64, 128, 256, 512], "split": "test"}}


@pytest.fixture
def two(sweep, make_sweep):
    """Sweeps `one/run` and `two/run`."""
    return make_sweep("one/run"), make_sweep("two/run")


def together(*sweeps):
    return read_sweeps([sweep.path for sweep in sweeps])


def test_jobs_of_one_name_stay_apart(two):
    one, other = two
    one.write("rope", (2.0,) * 5, seed=0)
    other.write("rope", (2.2,) * 5, seed=0, settings={"optimizer": {"lr": 9.0}})
    found = together(one, other)
    assert [job.name for job in found.jobs] == [
        "one/run/0_rope_full_seed0",
        "two/run/0_rope_full_seed0",
    ]
    (comparison,) = compare(found.jobs)
    assert {s.label for s in comparison.settings} == {"rope lr=0.0015", "rope lr=9.0"}
    assert found.notes == ()


def test_the_seeds_of_two_sweeps_are_one_setting(two):
    for sweep, seeds in zip(two, ((0, 1), (2, 3)), strict=True):
        for seed in seeds:
            sweep.write("rope", (2.0 + seed,) * 5, seed=seed)
    (comparison,) = compare(together(*two).jobs)
    (setting,) = comparison.settings
    assert [job.facts["seed"] for job in setting.jobs] == [0, 1, 2, 3]


def test_threads_and_paths_make_no_settings_of_their_own(two):
    for seed, (sweep, threads) in enumerate(zip(two, (2, 8), strict=True)):
        data = {"name": "text", "path": f"/machine{seed}/book.txt", "bos": "window"}
        trainer = {"context_length": 128, "max_steps": 1000, "threads": threads}
        sweep.write("rope", (2.0,) * 5, seed=seed, settings={"data": data, "trainer": trainer})
    (comparison,) = compare(together(*two).jobs)
    assert [s.label for s in comparison.settings] == ["rope"]


def test_an_identical_job_counts_once_and_is_said_to(two):
    one, other = two
    one.write("rope", (2.0,) * 5, seed=0)
    other.write("rope", (2.0,) * 5, seed=0, settings={"tracking": {"name": "wandb"}})
    other.write("rope", (2.1,) * 5, seed=1)
    found = together(one, other)
    assert len(found.jobs) == 2
    (note,) = found.notes
    assert "one/run/0_rope_full_seed0 and two/run/0_rope_full_seed0 are the same job" in note
    assert "counted once" in note


def test_of_many_identical_jobs_a_few_are_named(two):
    for sweep in two:
        for seed in range(7):
            sweep.write("rope", (2.0,) * 5, seed=seed)
    found = together(*two)
    assert len(found.jobs) == 7 and len(found.notes) == 4
    assert found.notes[-1] == "4 more jobs that two sweeps have are counted once."


def test_a_completed_job_stands_for_its_twin_that_failed(two):
    one, other = two
    one.write("rope", status="failed", error="out of disk")
    other.write("rope", (2.0,) * 5)
    found = together(one, other)
    assert [job.name for job in found.jobs] == ["two/run/0_rope_full_seed0"]
    assert found.notes[0].endswith("counted once; the second is failed.")


def test_one_seed_under_two_versions_is_two_settings_not_two_seeds(two):
    for sweep, torch in zip(two, ("2.12", "2.13"), strict=True):
        sweep.write("rope", (2.0,) * 5, **{"version.torch": torch})
    (comparison,) = compare(together(*two).jobs)
    assert {s.label for s in comparison.settings} == {"rope @one/run", "rope @two/run"}


def test_other_lengths_with_the_same_longest_share_their_anchors(two):
    one, other = two
    one.write("rope", (2.0,) * 5)
    few = {"evaluation": {"lengths": [128, 1024], "split": "test"}}
    path = other.write("alibi", (2.1, 2.2, 2.3, 2.4, 2.5), settings=few) / "result.json"
    result = json.loads(path.read_text())
    anchored = result["evaluation"]["anchored"]
    result["evaluation"]["anchored"] = [
        entry for entry in anchored if entry["length"] in (128, 1024)
    ]
    path.write_text(json.dumps(result))
    (comparison,) = compare(together(one, other).jobs, "rope")
    assert comparison.contrasts[128]["alibi"].estimate.mean == pytest.approx(0.2)
    assert comparison.contrasts[256]["alibi"].words == "n/a: not tested at this length"


def test_another_longest_length_has_other_anchors_and_is_another_comparison(two):
    one, other = two
    one.write("rope", (2.0,) * 5)
    other.write("alibi", (2.1,) * 5, settings=LENGTHS_512)
    assert len(compare(together(one, other).jobs)) == 2


def test_one_name_for_two_texts_is_two_comparisons(two):
    one, other = two
    one.write("rope", (2.0,) * 5, corpus_fingerprint="a1b2")
    other.write("rope", (2.0,) * 5, corpus_fingerprint="ffff")
    assert len(compare(together(one, other).jobs)) == 2


def test_the_report_of_several_goes_where_it_is_told_to(two, tmp_path, monkeypatch):
    monkeypatch.setattr("posexp.report.figures.draw", lambda comparisons: {})
    for seed, sweep in enumerate(two):
        sweep.write("rope", (2.0,) * 5, seed=seed)
    paths = [sweep.path for sweep in two]
    with open("/dev/null", "w") as nowhere:
        console = Console(file=nowhere)
        with pytest.raises(ValueError, match="needs a place of its own: --out DIR"):
            report(paths, console)
        with pytest.raises(ValueError, match="is one of the sweeps"):
            report(paths, console, out=paths[1])
        written = report(paths, console, out=tmp_path / "both")
        (tmp_path / "file").write_text("mine")
        with pytest.raises(ValueError, match="is a file"):
            report(paths, console, out=tmp_path / "file")
    assert tmp_path / "both" / "report.html" in written
    assert not (paths[0] / "results.csv").exists()
    rows = json.loads((tmp_path / "both" / "results.json").read_text())["jobs"]
    assert [row["job"] for row in rows] == [
        "one/run/0_rope_full_seed0",
        "two/run/0_rope_full_seed1",
    ]


def test_the_command_takes_several_directories_a_baseline_and_a_place(two, tmp_path, capsys):
    for sweep, scheme in zip(two, ("rope", "alibi"), strict=True):
        sweep.write(scheme, (2.0,) * 5)
    given = ["report", *(str(sweep.path) for sweep in two)]
    out = ["--out", str(tmp_path / "both")]
    assert main([*given, *out, "--baseline", "alibbi"]) == 2
    assert (
        "no setting 'alibbi' to be the baseline (did you mean 'alibi'?)" in capsys.readouterr().err
    )
    assert not (tmp_path / "both").exists()
    assert main([*given, *out, "--baseline", "alibi"]) == 0
    assert "minus alibi" in capsys.readouterr().out
    assert (tmp_path / "both" / "results.csv").is_file()


def test_a_directory_given_twice_is_refused(two):
    two[0].write("rope", (2.0,) * 5)
    with pytest.raises(ValueError, match="given more than once"):
        read_sweeps([two[0].path, two[0].path / ".." / "run"])


def test_shortest_ends(tmp_path):
    paths = [tmp_path / "a" / "x", tmp_path / "b" / "x", tmp_path / "y"]
    assert shortest_ends(paths) == ["a/x", "b/x", f"{tmp_path.name}/y"]
    assert shortest_ends([tmp_path / "x", tmp_path / "y"]) == ["x", "y"]
