import csv
import io
import math
import re

from posexp.report.analyse import analyse
from posexp.report.comparison import compare
from posexp.report.sweeps import read_sweeps
from posexp.report.tables import escape, to_csv, to_latex


def study(sweep, baseline=None):
    sweeps = read_sweeps([sweep.path])
    return analyse([sweep.path], sweeps, compare(sweeps.jobs, baseline))


def three_of_each(sweep):
    for seed, (rope, alibi) in enumerate([(2.0, 2.9), (2.1, 3.0), (2.3, 3.2)]):
        sweep.write("rope", (rope, rope, rope + 1, rope + 2, None), seed=seed)
        sweep.write("alibi", (alibi,) * 5, seed=seed)
    return sweep


def test_every_interval_as_csv(sweep):
    rows = list(csv.DictReader(io.StringIO(to_csv(study(three_of_each(sweep), "rope")))))
    found = {(r["setting"], r["figure"], r["length"]): r for r in rows}
    loss = found["rope", "loss", "128"]
    mean, half = 6.4 / 3, 4.3027 * 0.152753 / math.sqrt(3)
    assert math.isclose(float(loss["mean"]), mean)
    assert math.isclose(float(loss["seeds_low"]), mean - half, rel_tol=1e-4)
    assert float(loss["low"]) < float(loss["seeds_low"]) and loss["verdict"] == ""
    assert math.isclose(float(found["rope", "gain", "256"]["mean"]), -1.0)
    difference = found["alibi", "difference", "128"]
    assert difference["verdict"].startswith("worse by 0.900") and difference["family"] == "1"
    assert float(difference["low"]) < 0.9 < float(difference["high"])
    assert difference["seeds_needed"] == "3"
    undefined = found["rope", "loss", "1024"]
    assert (undefined["status"], undefined["mean"]) == ("undefined", "")
    assert ("rope", "difference", "128") not in found
    assert not any(cell.lower() in ("nan", "inf", "none") for r in rows for cell in r.values())


def test_a_booktabs_table_with_the_verdict_and_what_is_undefined(sweep):
    text = to_latex(study(three_of_each(sweep), "rope"))
    lines = text.splitlines()
    assert r"\begin{tabular}{lrrrrrrr}" in text and text.count(r"\\") == 3
    assert r" & seeds & $0.5T$ & $T$ & $2T$ & $4T$ & $8T$ & $-$ rope at $T$ \\" in lines
    rope = next(line for line in lines if line.startswith("rope"))
    assert r"2.133 {\scriptsize $\pm$ 0.379}" in rope and "& n/a &" in rope
    alibi = next(line for line in lines if line.startswith("alibi"))
    assert re.search(r"\$\+0\.900\$\* \{\\scriptsize \[\+0\.\d{3}, \+0\.\d{3}\]\}", alibi)
    assert all(line.count("&") == 7 for line in lines if line.endswith(r"\\"))


def test_one_seed_has_no_interval_and_no_star(sweep):
    sweep.write("rope", (2.0,) * 5)
    sweep.write("alibi", (2.5,) * 5)
    alibi = next(x for x in to_latex(study(sweep)).splitlines() if x.startswith("alibi"))
    assert "$+0.500$" in alibi and "*" not in alibi and "pm" not in alibi


def test_latex_takes_no_character_of_a_name_for_its_own():
    assert escape("a_b 50% #1 {x} ~ ^ \\ $&") == (
        r"a\_b 50\% \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$\&"
    )
