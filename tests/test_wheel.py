"""The built wheel, away from the repository."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_wheel_trains_from_another_directory_on_a_users_file(tmp_path):
    built = tmp_path / "dist"
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", built, REPOSITORY],
        check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = built.glob("posexp-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "posexp",
        "posexp_families",
        "posexp_schemes",
        "posexp_tasks",
    }
    assert "posexp/conf/config.yaml" in names
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--target", site, wheel],
        check=True, capture_output=True,
    )  # fmt: skip
    elsewhere.mkdir()
    text = "the quick brown fox jumps over the lazy dog and the cat sat on a mat.\n\n" * 400
    (elsewhere / "mine.txt").write_text(text)
    environment = os.environ | {"PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}
    code = (
        "import posexp, sys; from posexp.cli import main;"
        f"assert posexp.__file__.startswith({str(site)!r}), posexp.__file__;"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [
            sys.executable, "-c", code, "train", "scheme=rope", "data=text", "data.path=mine.txt",
            "trainer.max_steps=5", "trainer.val_every=null", "evaluation.anchors=8",
            "evaluation.curve_windows=1", "evaluation.literature_windows=1", "tracking=csv",
            "hydra.run.dir=out",
        ],
        env=environment, cwd=elsewhere, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (elsewhere / "out" / "report" / "loss_by_length.png").is_file()
    assert sorted(path.name for path in elsewhere.iterdir()) == ["mine.txt", "out"]
