import posexp
from posexp.composition import conf_directory, location


def test_the_directory_is_absolute_and_holds_the_root_config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    directory = conf_directory()
    assert directory.is_absolute()
    assert (directory / "config.yaml").is_file()
    assert (directory / "model" / "tiny.yaml").is_file()


def test_a_wheels_own_copy_comes_first(tmp_path, monkeypatch):
    for conf in (tmp_path / "posexp" / "conf", tmp_path / "conf"):
        conf.mkdir(parents=True)
        (conf / "config.yaml").touch()
    monkeypatch.setattr(location.posexp, "__file__", str(tmp_path / "posexp" / "__init__.py"))
    assert conf_directory() == tmp_path / "posexp" / "conf"
    (tmp_path / "posexp" / "conf" / "config.yaml").unlink()
    assert conf_directory() == tmp_path / "conf"
    assert posexp.__name__ == "posexp"
