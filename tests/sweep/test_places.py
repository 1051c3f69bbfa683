import pytest

from posexp.sweep.places import check_n_jobs, cores_a_job, places


def gpu(monkeypatch, names):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", names)


def test_places_are_the_visible_gpus_unless_a_job_needs_several(job, monkeypatch):
    gpu(monkeypatch, "3, 7")
    on_cpu, on_gpu, wide = [job(name=n) for n in "abc"]
    on_gpu.config["trainer"]["accelerator"] = "gpu"
    wide.config["trainer"] = {"accelerator": "gpu", "devices": 2}
    assert places([on_cpu, on_cpu]) == [{}]
    assert places([on_gpu]) == [{"CUDA_VISIBLE_DEVICES": "3"}]
    assert [s["CUDA_VISIBLE_DEVICES"] for s in places([on_gpu] * 5)] == ["3", "7"]
    assert places([on_gpu, wide]) == [{}]


def test_several_jobs_at_once_where_that_is_asked_for(job, monkeypatch):
    gpu(monkeypatch, "3,7")
    on_cpu, on_gpu = job(name="a"), job(name="b")
    on_gpu.config["trainer"]["accelerator"] = "gpu"
    assert places([on_cpu] * 5, 3) == [{}] * 3
    assert places([on_cpu], 3) == [{}]
    names = [s["CUDA_VISIBLE_DEVICES"] for s in places([on_gpu] * 9, 4)]
    assert names == ["3", "7", "3", "7"]


def test_the_cores_are_shared_out(monkeypatch):
    gpu(monkeypatch, "0,1,2,3")
    assert cores_a_job(8, None, on_gpu=False, wide=False) == 8
    assert cores_a_job(8, 3, on_gpu=False, wide=False) == 2
    assert cores_a_job(2, 8, on_gpu=False, wide=False) == 1
    assert cores_a_job(8, None, on_gpu=True, wide=False) == 2
    assert cores_a_job(8, None, on_gpu=True, wide=True) == 8


def test_no_jobs_at_once_is_refused():
    check_n_jobs(None)
    check_n_jobs(1)
    with pytest.raises(ValueError, match="n_jobs=0: at least 1"):
        check_n_jobs(0)
