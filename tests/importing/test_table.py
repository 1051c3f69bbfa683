"""The tables of fields against the library's own configs: none is forgotten, no default differs."""

import dataclasses

import pytest

from posexp.importing.fields import BASE, REFUSED
from posexp.registry import family_registry

CONFIGS = {
    "bloom": "Bloom", "gemma3": "Gemma3", "gemma3_text": "Gemma3Text", "gpt2": "GPT2",
    "gpt_neox": "GPTNeoX", "gptj": "GPTJ", "llama": "Llama",
}  # fmt: skip
#: What older versions had beside `rope_parameters`, and the library has no more.
BEFORE = {
    "rope_theta", "rope_scaling", "rope_local_base_freq", "rotary_emb_base", "rotary_pct",
    "original_max_position_embeddings", "seq_length", "sliding_window_pattern",
}  # fmt: skip
#: Derived where they are null.
DERIVED = {"head_dim", "num_key_value_heads", "layer_types", "rope_parameters"}


def library_config(family):
    import transformers

    return getattr(transformers, f"{CONFIGS[family]}Config")()


def test_every_family_is_here():
    assert set(CONFIGS) == set(family_registry().names)


@pytest.mark.parametrize("family", CONFIGS)
def test_every_field_of_the_library_is_in_a_table(family):
    spec, config = family_registry().get(family), library_config(family).to_dict()
    if spec.nested:
        config |= config.pop(spec.nested)
    own = {field.name for field in dataclasses.fields(spec.config)}
    known = own | set(spec.only) | spec.ignored | set(spec.aliases) | BASE | set(REFUSED)
    assert config.keys() - known == set()


@pytest.mark.parametrize("family", CONFIGS)
def test_a_field_that_is_left_out_has_the_librarys_value(family):
    spec, config = family_registry().get(family), library_config(family)
    if spec.nested:
        config = getattr(config, spec.nested)
    compared = 0
    for field in dataclasses.fields(spec.config):
        if field.name in BEFORE | DERIVED:
            continue
        assert field.default == getattr(config, field.name), field.name
        compared += 1
    for name, allowed in spec.only.items():
        assert getattr(config, name, allowed[0]) in allowed
    assert compared >= 7


def test_generation_settings_that_old_versions_kept_are_in_a_table():
    from transformers import GenerationConfig

    assert GenerationConfig._get_default_generation_params().keys() <= BASE
