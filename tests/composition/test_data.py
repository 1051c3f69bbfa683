import pytest

from posexp.composition import ConfigurationError, compose_job, compose_run, hydra_session


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


def test_a_corpus_of_ones_own_needs_a_path():
    with hydra_session() as hydra:
        for name in ("text", "hf", "bin"):
            with pytest.raises(ConfigurationError, match="data.path must be set"):
                compose_run(hydra, [f"data={name}"])
