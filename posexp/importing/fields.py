"""The fields of a config.json: every one is translated, or known to change nothing, or refused.

What no table knows is listed in a warning. The tables here are for all families: the fields of the
library's base class, and those that make another model of any family.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posexp.family import FamilySpec
from posexp.registry import family_registry, nearest, typed_config

#: What the library's base class has beside the model: how it runs, what it is called, its tokens.
RUNNING = {
    "_attn_implementation_autoset", "_commit_hash", "_name_or_path", "architectures",
    "attn_implementation", "chunk_size_feed_forward", "dtype", "eos_token_id",
    "is_decoder", "model_type", "name_or_path", "output_attentions", "output_hidden_states",
    "pad_token_id", "prefix", "return_dict", "sep_token_id", "tf_legacy_loss", "tokenizer_class",
    "torch_dtype", "torchscript", "transformers_version", "use_bfloat16", "use_cache",
}  # fmt: skip
#: Heads of other tasks, and encoders beside the model.
TASKS = {
    "cross_attention_hidden_size", "decoder_start_token_id", "finetuning_task", "id2label",
    "label2id", "num_labels", "problem_type", "task_specific_params", "tie_encoder_decoder",
}  # fmt: skip
#: Settings of generation, which old versions kept here.
GENERATION = {
    "assistant_confidence_threshold", "assistant_lookbehind", "bad_words_ids",
    "begin_suppress_tokens", "cache_implementation", "diversity_penalty", "do_sample",
    "early_stopping", "encoder_no_repeat_ngram_size", "encoder_repetition_penalty",
    "epsilon_cutoff", "eta_cutoff", "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "max_new_tokens", "min_length",
    "no_repeat_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_scores",
    "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "suppress_tokens",
    "target_lookbehind", "temperature", "top_k", "top_p", "typical_p",
}  # fmt: skip
BASE = frozenset(RUNNING | TASKS | GENERATION)

_MIXTURE = "mixtures of experts are not supported"
#: Fields that make another model wherever they are set, with the reason.
REFUSED = {
    "quantization_config": "the weights are quantised: import the checkpoint they were made from",
    "num_local_experts": _MIXTURE,
    "num_experts": _MIXTURE,
    "n_routed_experts": _MIXTURE,
    "moe_num_experts": _MIXTURE,
    "use_attention_sinks": "attention sinks are not supported",
    "attention_sinks": "attention sinks are not supported",
    "per_layer_config": "layers with settings of their own are not supported",
    "pruned_heads": "pruned heads are not supported",
    "is_encoder_decoder": "it is an encoder and a decoder, and posexp has decoders alone",
    "add_cross_attention": "cross-attention is not supported",
    "auto_map": "the model is defined by code that comes with it, which is not run",
}


@dataclass(frozen=True)
class Fields:
    """A config.json as its family reads it.

    `values` is the family's dataclass, `unknown` the fields that no table has.
    """

    values: Any
    unknown: tuple[str, ...]


def find_family(config: Mapping[str, Any]) -> FamilySpec:
    """The family of a config.json. Raises `ValueError`, which names the nearest, for another."""
    name, known = config.get("model_type"), family_registry().names
    if name not in known:
        said = "has no model_type" if name is None else f"has model_type={name!r}"
        raise ValueError(
            f"config.json {said}, which no family translates{nearest(str(name), known)}; there are "
            f"{', '.join(known) or 'none'}"
        )
    return family_registry().get(name)


def read_fields(spec: FamilySpec, config: Mapping[str, Any]) -> Fields:
    """Sort the fields of a config.json by the family's table and those for all families.

    Raises `ValueError` for a field that makes another model of it, or has a value that it cannot
    have.
    """
    given = _by_one_name(spec, _whole(spec, config))
    own = {f.name for f in dataclasses.fields(spec.config)}
    unknown = []
    for key, value in given.items():
        if key in spec.only:
            if value not in spec.only[key]:
                allowed = " or ".join(map(repr, spec.only[key]))
                raise ValueError(f"{key}={value!r} is not supported, only {allowed}")
        elif key in REFUSED:
            if value:
                raise ValueError(f"{key}={_short(value)}: {REFUSED[key]}")
        elif key not in own | spec.ignored | BASE:
            unknown.append(key)
    values = typed_config(spec, {k: v for k, v in given.items() if k in own})
    return Fields(values, tuple(sorted(unknown)))


def _whole(spec: FamilySpec, config: Mapping[str, Any]) -> dict[str, Any]:
    """All fields beside one another, those of the text model above the others."""
    if spec.nested is None:
        return dict(config)
    inner = config.get(spec.nested)
    if not isinstance(inner, Mapping):
        raise ValueError(f"{spec.nested} must hold the fields of the text model, it is {inner!r}")
    return {k: v for k, v in config.items() if k != spec.nested} | dict(inner)


def _by_one_name(spec: FamilySpec, config: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for key, value in config.items():
        name = spec.aliases.get(key, key)
        if name in given and given[name] != value:
            raise ValueError(
                f"{key}={value!r} and {name}={given[name]!r} are names of one field with two values"
            )
        given[name] = value
    return given


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
