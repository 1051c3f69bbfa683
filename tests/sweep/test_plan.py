import io

from rich.console import Console

from posexp.sweep.jobs import Job
from posexp.sweep.plan import print_plan
from posexp.training.build import JobPlan


def test_a_row_a_job_and_the_sum(tmp_path):
    evaluation = {
        "lengths": [8],
        "foreign_split": None,
        "anchors": 0,
        "curve_windows": 0,
        "literature_windows": 0,
    }
    trainer = {
        **{"context_length": 8, "max_steps": 1, "batch_size": 1, "accumulate": 1},
        **{
            "val_every": None,
            "devices": 1,
            "threads": 1,
            "accelerator": "cpu",
            "precision": "32-true",
        },
    }
    config = {
        "model": {"n_layers": 1, "d_model": 8, "causal": True},
        "trainer": trainer,
        "evaluation": evaluation,
    }
    names = ["0_a_rather_long_name_of_a_job_seed0", "1_b"]
    jobs = [Job(tmp_path / "s" / name, config) for name in names]
    plans = [
        JobPlan(parameters=1_234, scheme_parameters=56, kernels=["sdpa", "eager", "sdpa"], tokens=8)
    ] * 2
    out = io.StringIO()
    print_plan(jobs, plans, tmp_path / "s", Console(file=out, width=100))
    text = out.getvalue()
    for part in [*names, "1,234", "56", "sdpa, eager", "not run", "estimates", str(tmp_path / "s")]:
        assert part in text
    assert not (tmp_path / "s").exists()
