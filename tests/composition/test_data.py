import pytest

from posexp.composition import ConfigurationError, compose_job


def data(*words):
    return compose_job(list(words))["data"]


def test_a_tokenizer_is_a_name_or_a_path_that_stays_what_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert data()["tokenizer"] is None
    for name in ("bytes", "bpe"):
        assert data(f"data.tokenizer={name}")["tokenizer"] == name
    assert data("data.tokenizer=a/tokenizer.json")["tokenizer"] == str(
        tmp_path / "a" / "tokenizer.json"
    )


def test_a_dataset_is_a_name_on_the_hub_unless_it_is_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert data("data=hf", "data.path=team/stories")["path"] == "team/stories"
    (tmp_path / "team" / "stories").mkdir(parents=True)
    assert data("data=hf", "data.path=team/stories")["path"] == str(tmp_path / "team" / "stories")


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("austen", set()),
        ("text", {"column"}),
        ("hf", {"column", "subset", "split", "streaming", "limit"}),
        ("bin", {"separator", "dtype", "bytes_per_token"}),
    ],
)
def test_each_kind_has_the_settings_that_it_uses(name, own):
    words = [f"data={name}"] + (["data.path=x"] if own else [])
    assert data(*words).keys() == {"name", "path", "bos", "tokenizer", "vocabulary"} | own


def test_a_setting_of_another_kind_is_refused():
    with pytest.raises(ConfigurationError, match=r"data.separator"):
        data("data=text", "data.path=x", "data.separator=3")
