"""P40: what is wrong, what is valid and, for a sweep, which job."""

import pytest

from posexp.composition import (
    ConfigurationError,
    compose_job,
    compose_run,
    compose_sweep,
    hydra_session,
)


@pytest.fixture(scope="module")
def hydra():
    with hydra_session() as session:
        yield session


MISTAKES = {
    "seeed=3": ["'seeed'", "did you mean 'seed'", "model", "scheme"],
    "schem=rope": ["'schem'", "did you mean 'scheme'"],
    "scheme=rpoe": ["'rpoe'", "did you mean 'rope'", "alibi", "nope"],
    "model=tini": ["'tini'", "did you mean 'tiny'", "small"],
    "experiment=quik": ["'quik'", "did you mean 'quick'"],
    "model.n_layer=3": ["'n_layer'", "did you mean 'n_layers'", "d_model"],
    "modle.n_layers=3": ["'modle.n_layers'", "did you mean 'model.n_layers'"],
    "scheme.thet=3": ["scheme=rope", "'thet'", "did you mean 'theta'"],
    "scheme.theta=abc": ["scheme.theta", "'abc'", "Float"],
    "+trainer.max_step=3": ["'max_step'", "did you mean 'max_steps'"],
    "+scheme.thet=3": ["rope", "'thet'", "did you mean 'theta'"],
    "+foo.bar=3": ["'foo.bar'"],
    "seed=abc": ["seed must be an integer", "'abc'"],
    "trainer.max_steps=1.5": ["trainer.max_steps must be an integer", "1.5"],
    "trainer.max_steps=true": ["trainer.max_steps must be an integer", "True"],
    "optimizer.lr=fast": ["optimizer.lr must be a number", "'fast'"],
    "optimizer.lr=nan": ["optimizer.lr must be finite"],
    "model.causal=1": ["model.causal must be true or false"],
    "data=text": ["data.path must be set"],
    "seed": ["'seed'", "key=value"],
    "model.n_heads=[1": ["'model.n_heads=[1'", "key=value"],
    "seed=${nowhere}": ["seed", "nowhere"],
    "seed=${mul:2,a}": ["seed", "mul multiplies numbers"],
    "scheme=null": ["group", "string"],
    "~scheme": ["scheme was removed"],
    "~trainer.devices": ["trainer.devices was removed"],
    "scheme=rope,alibi": ["scheme=rope,alibi", "add -m"],
    "seed=range(3)": ["seed=range(3)", "add -m"],
    "experiment=quick": ["sweep over scheme", "add -m"],
    "seed=1 seed=2": ["seed is set twice", "seed=1", "seed=2"],
    "scheme.name=rope": ["scheme.name=rope", "scheme=rope"],
    "++scheme.name=rope": ["scheme=rope"],
    "scheme={name:alibi}": ["scheme=alibi"],
    "span.name=sliding": ["span=sliding"],
    "data.name=shakespeare": ["data=shakespeare"],
    "tracking.name=csv": ["tracking=csv"],
    "scheme=hybrid scheme.local.name=alibi": ["scheme@scheme.local=alibi"],
    "scheme=hybrid scheme@scheme.local=rpoe": ["'rpoe'", "did you mean 'rope'"],
    "scheme@scheme.local=rope": ["scheme.local", "scheme=hybrid"],
    "scheme=alibi scheme.theta=5": ["scheme=alibi", "'theta'"],
    "scheme=alibi +scheme.theta=5": ["alibi", "'theta'"],
    "hydra.sweep.dir=x": ["hydra.sweep.dir has no effect without -m", "hydra.run.dir"],
    "hydra.sweep.subdir=x": ["hydra.sweep.subdir has no effect without -m"],
    "hydra.run.dri=x": ["hydra.run.dri"],
    "hydra.job.chdir=true": ["hydra.job.chdir"],
    "hydra/launcher=foo": ["'foo'", "basic", "posexp"],
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_answered_in_one_line(line, hydra):
    with pytest.raises(ConfigurationError) as caught:
        compose_run(hydra, line.split())
    message = str(caught.value)
    for part in MISTAKES[line]:
        assert part in message
    assert "\n" not in message


SWEEP_MISTAKES = {
    "scheme=rope,alibi scheme.theta=5": ["job 1", "scheme=alibi", "'theta'"],
    "scheme=rope,rpoe": ["job 1", "'rpoe'", "did you mean 'rope'"],
    "seed=0,abc": ["job 1", "seed must be an integer"],
    "seeed=0,1": ["'seeed'", "did you mean 'seed'"],
    "scheme.name=rope,alibi": ["changes a name"],
    "hydra.run.dir=x": ["hydra.run.dir has no effect on a sweep", "hydra.sweep.dir"],
    "seed=interval(0,1)": ["INTERVAL_SWEEP"],
}


@pytest.mark.parametrize("line", SWEEP_MISTAKES)
def test_a_mistake_in_a_sweep_names_the_job(line, hydra):
    with pytest.raises(ConfigurationError) as caught:
        compose_sweep(hydra, line.split())
    for part in SWEEP_MISTAKES[line]:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_private_base_files_are_no_choice():
    with pytest.raises(ConfigurationError) as caught:
        compose_job(["model=tini"])
    assert "_base" not in str(caught.value)
