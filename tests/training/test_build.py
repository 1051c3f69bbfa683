import pytest

from posexp.training.build import check_job


def test_the_plan_counts_parameters_by_hand(make_config):
    plan = check_job(make_config(scheme={"name": "learned"}))
    d, vocabulary, context = 16, 257, 16
    block = 4 * d * d + 2 * 4 * d * d + 2 * d  # attention, feed-forward, two norms
    assert plan.scheme_parameters == context * d
    assert plan.parameters == vocabulary * d + 2 * block + d + plan.scheme_parameters
    assert plan.kernels == ["sdpa", "sdpa"]
    assert plan.tokens == 6 * 4 * 16


@pytest.mark.parametrize(
    ("sections", "kernel"),
    [
        ({"span": {"name": "chunked", "chunk": 4}}, "chunked"),
        ({"model": {"attention": "linear"}}, "linear"),
        ({"model": {"attention": "latent"}, "scheme": {"name": "alibi"}}, "key_side"),
    ],
)
def test_the_plan_has_the_kernel_of_every_kind(make_config, sections, kernel):
    assert check_job(make_config(**sections)).kernels == [kernel, kernel]


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"model": {"causal": False}}, "would leak"),
        (
            {"model": {"kernel": "sdpa"}, "scheme": {"name": "t5"}},
            "distance_bias.*use by_distance or band or tiled or eager",
        ),
        ({"trainer": {"batch_size": 5, "accumulate": 2}}, "4 or 6"),
        ({"trainer": {"max_steps": 0}}, "trainer.max_steps must be at least 1"),
        ({"trainer": {"val_every": 0}}, "or null for never"),
        ({"scheme": {"name": "learned", "max_length": 8}}, "8 positions, fewer than"),
        ({"scheme": {"name": "rope", "theta": -1}}, "theta"),
        ({"scheme": {"name": "rpoe"}}, "did you mean 'rope'"),
        ({"span": {"name": "sliding", "window": 0}}, "at least 1 key"),
        ({"span": {"name": "full", "window": 8}}, "span=sliding span.window=8"),
        ({"span": {"name": "sliding", "window": None}}, "needs span.window"),
        ({"span": {"name": "chunked", "chunk": None}}, "needs span.chunk"),
        ({"span": {"name": "chunked", "chunk": 0}}, "at least 1 position"),
        ({"span": {"name": "full", "chunk": 8}}, "use span=chunked span.chunk=8"),
        ({"span": {"name": "chunked", "chunk": 8, "window": 4}}, "span=sliding span.window=4"),
        (
            {"model": {"attention": "linear"}, "scheme": {"name": "alibi"}},
            "attention=linear cannot serve Alibi: it acts on distance_slopes",
        ),
        (
            {"model": {"attention": "latent"}, "scheme": {"name": "shaw"}},
            "cannot serve Shaw: it acts on distance_keys, distance_values",
        ),
        ({"model": {"attention": "linear", "kernel": "sdpa"}}, "use model.kernel=auto"),
        ({"model": {"qk_norm": "after"}}, "Nope transforms none"),
        ({"model": {"vocabulary": 256}}, "no room for the 257 ids of the tokenizer"),
        ({"data": {"bos": "windows"}}, "window"),
        ({"trainer": {"threads": 0}}, "trainer.threads must be at least 1"),
        ({"optimizer": {"betas": [0.9]}}, "two numbers"),
        ({"optimizer": {"lr": -1.0}}, "optimizer.lr"),
        ({"evaluation": {"targets": 9}}, "quarter"),
        ({"evaluation": {"lengths": [8, 16, 4096]}}, "4097|4096"),
    ],
)
def test_what_cannot_run_is_said_before_anything_does(make_config, sections, words):
    with pytest.raises(Exception, match=words) as caught:
        check_job(make_config(**sections))
    kinds = ("ValueError", "IllegalKernelError", "IllegalAttentionError", "PluginError")
    assert type(caught.value).__name__ in kinds


def test_a_span_on_a_hybrid_is_refused(make_config):
    """Its layers set their own windows: the span would act on some of them only."""
    hybrid = {"name": "hybrid", "pattern": "LG"}
    check_job(make_config(scheme=hybrid))
    with pytest.raises(ValueError, match="sets a span for each layer itself.*use span=full"):
        check_job(make_config(scheme=hybrid, span={"name": "sliding", "window": 8}))
