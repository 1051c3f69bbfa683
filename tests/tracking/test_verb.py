from posexp.cli import main


def test_help_names_the_actions_and_a_mistake_the_nearest(capsys):
    assert main(["wandb"]) == 0
    assert "posexp wandb sync DIR" in capsys.readouterr().out
    try:
        main(["wandb", "snyc"])
    except SystemExit as end:
        assert end.code == 2
    assert "did you mean 'sync'" in capsys.readouterr().err


def test_errors_are_one_line(tmp_path, capsys):
    assert main(["wandb", "sync", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("posexp: error:")
    assert said.count("\n") == 1


def test_the_dashboard_is_written_where_it_is_asked_for(workspaces, tmp_path, capsys):
    assert main(["wandb", "dashboard", "--project", "mine", "--out", str(tmp_path / "d.json")]) == 0
    assert (tmp_path / "d.json").exists()
    assert main(["wandb", "dashboard", "--out", str(tmp_path / "d.json")]) == 2
    assert "exists" in capsys.readouterr().err
