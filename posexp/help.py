"""What `posexp --help` and the verbs' `--help` say."""

COMMAND = """\
posexp: which position scheme, and does it still work past its training length?

usage: posexp VERB ...

  train       train one model, or with -m one for each combination of values, and compare them
  sweep       how a sweep stands, go on with it, or make room
  eval        evaluate a checkpoint at other lengths
  generate    let a checkpoint go on with a text
  report      make the page, tables and figures of one or several directories again
  schemes     list, show and check the installed position schemes, or begin a new one
  explain     measure what schemes do, without training, side by side on a page with pictures
  wandb       upload what W&B recorded offline, or make its dashboard
  checkpoint  put a sharded checkpoint together into one file
  prepare     turn text files into a token directory that is memory-mapped
  import-hf   turn a released Llama, GPT-2, GPT-NeoX, GPT-J, BLOOM or Gemma 3 into a run
  bench       time the schemes against NoPE and other libraries, and measure their memory

posexp VERB --help explains each. The quickest look: posexp train -m experiment=quick
"""

TRAIN = """\
Train, evaluate at the training length and beyond it, and record everything in one directory.

Settings are Hydra's, written key=value:
  scheme=rope          choose an option of a group: scheme, span, task, objective, model, data,
                       optimizer, trainer, evaluation, tracking, experiment (posexp schemes list;
                       conf/)
  scheme.theta=1e5     change one value of what was chosen
  scheme=rope,alibi    several values: a sweep, with -m; one job for each combination

Examples:
  posexp train                                              RoPE, a tiny model, Jane Austen
  posexp train -m scheme=rope,alibi,nope span=full,sliding  six jobs, one table
  posexp train -m experiment=quick seed=0,1,2               eight schemes, three seeds
  posexp train -m experiment=needle                         loss beside far retrieval
  posexp train --plan -m experiment=quick                   what that would take
  posexp train data=text data.path=book.txt                 your own text
  posexp train scheme=hybrid scheme@scheme.local=alibi      a scheme inside a scheme
  posexp train --resume runs/2026-01-31_12-00-00_sweep      go on after Ctrl-C or a crash

A scheme need not be installed: --plugin my_scheme.py scheme=my_scheme takes it from a file. The
flag can be repeated; files can also be named in POSEXP_PLUGINS, separated as in PATH. A run keeps a
copy in its directory, which its jobs and --resume use: later edits of the file do not reach it.

Each job of a sweep runs in a fresh process in a directory of its own; nothing is overwritten. With
hydra.sweep.dir=DIR the same command again goes on with what is not done and adds what is new;
hydra.launcher.n_jobs=N runs N jobs at once, each with its share of the cores. posexp sweep status
DIR shows how they stand.

The exit code is 0, 1 if a job failed, 2 if a setting is wrong (then nothing was run), 130 after
Ctrl-C.
"""

SWEEP = """\
A sweep of posexp train -m, by its directory.

  posexp sweep status DIR    what each job is doing or how it ended; from another terminal, too
  posexp sweep resume DIR    go on with what is not done, as it was begun
  posexp sweep clean DIR     what can be deleted to make room; --yes deletes it

posexp sweep ACTION --help explains each. The same posexp train -m again, with hydra.sweep.dir=DIR,
goes on as well, and adds the jobs that are new in it.
"""

SWEEP_STATUS = """\
The jobs of a sweep, or of a single run, as their directories tell: nothing is asked of the
processes that run them, so it works from anywhere, while they run and after.

  queued, not started   it waits for its turn; nobody is about to start it
  running               a process trains in its directory
  completed, diverged   it has ended; a diverged one has results, too
  failed                it ended by itself, the cause says why; a resume runs it again
  interrupted           it was stopped or killed; a resume goes on from its last checkpoint
"""

SWEEP_RESUME = """\
Go on with every job of a sweep that has not ended: from its last checkpoint, where there is one,
and then the weights at the end are those of an undisturbed run, bit for bit. Failed jobs are tried
again. Every setting is the recorded one, as is the launcher. posexp train --resume DIR is the same.
"""

SWEEP_CLEAN = """\
What a sweep keeps that its results do not need, and how much room it takes: checkpoints of jobs
that have ended, W&B files that were uploaded, leftovers of processes that were killed. Nothing is
deleted without --yes, and never a result, a log, or a checkpoint that a resume would go on from.

  posexp sweep clean runs/2026-01-31_12-00-00_sweep
  posexp sweep clean runs/2026-01-31_12-00-00_sweep --yes
"""

EVAL = """\
Evaluate a checkpoint as `posexp train` does after training. Settings of the group evaluation can be
changed:

  posexp eval runs/.../checkpoints/last.ckpt evaluation.lengths=[128,4096] evaluation.anchors=64

A scheme that extends the trained one can take its place, on the same weights:

  posexp eval runs/.../checkpoints/last.ckpt scheme=yarn scheme.factor=8

A scheme that came from a file needs that file again: --plugin my_scheme.py, unchanged since, or
--run-copied-plugin to run the copy beside the checkpoint. It is code like any other: look at it
first if the checkpoint is not yours.
"""

GENERATE = """\
Let a checkpoint go on with a text, token by token from a cache: the likeliest one, or with
--temperature one that is drawn. One prompt is written as it grows; several are decoded together.

  posexp generate runs/.../checkpoints/last.ckpt --prompt "It is a truth" --max-tokens 400
  posexp generate runs/... --prompt Emma --prompt Anne --temperature 0.8 --top-k 40 --seed 1

It goes on past the training length, and stops where the scheme defines no more positions.
"""

REPORT = """\
Read a sweep's directory (or one job's) and make its page report.html, its tables, results.csv,
results.json and figures again. Also works while a sweep runs.

  posexp report runs/study                           everything against the best at T
  posexp report runs/study --baseline rope           against a setting chosen beforehand
  posexp report runs/a runs/b --out runs/both        several sweeps read as one

Verdicts need three seeds: an interval over seeds and text, corrected for the number of settings.
"""

SCHEMES = """\
Position schemes: what is installed, what one of them is, whether it keeps the contract, and a new
one to start from.

  posexp schemes list                  each with its distribution, its version and whether it works
  posexp schemes show NAME             idea, parameters, kernels, limits, and what it does, drawn
  posexp schemes check NAME            the checks of posexp.testing, one line each
  posexp schemes new NAME              a distribution with a scheme of your own that passes them

posexp schemes ACTION --help explains each.
"""

SCHEMES_LIST = """\
Load every scheme on offer and list it: name, distribution, version, and usable or broken with the
reason; evaluation tasks below. A broken plugin blocks no other. Choose a scheme with posexp train
scheme=NAME, a task with task=NAME.
"""

SCHEMES_SHOW = """\
What a scheme is: its idea, equation and paper, its parameters, what it acts on, the kernels it gets
and why, its limits, where it is from, and its matrix as measured: the bias by query and key, the
angles by which it turns queries, what it adds to the input, or what it lets a query see.

  posexp schemes show rope theta=1e5 --picture rope.png
  posexp schemes show hybrid pattern=LG --layers 8 --length 256
  posexp schemes show rope model.attention=latent model.latent_width=64
"""

SCHEMES_CHECK = """\
Examine a scheme by every check of posexp.testing and say of each what became of it: held, failed
and why, not applicable, or not run because it rests on one that failed.

  posexp schemes check t5 buckets=16
  posexp schemes check t5 --only causality --only shift_invariance_as_declared

The exit code is 1 if a check failed.
"""

SCHEMES_NEW = """\
Begin a scheme: a directory posexp-NAME with a scheme that works, its entry point in pyproject.toml,
a test that runs every check of posexp.testing, and a README. Replace the equation with yours.

  posexp schemes new log_bias
  posexp schemes new log_bias --single-file    only log_bias.py, for posexp train --plugin

Nothing is overwritten.
"""

EXPLAIN = """\
Write one HTML page on what schemes do, measured by calling them and never by their name: where each
acts, whether scores depend on distance alone, what a causal mask changes, whether cached keys stay
valid, which kernels it gets, what training leaves undefined. Where a scheme declares something else
than is measured, the page shows both. Pictures below: what happens to each dimension, wavelengths,
scores by distance for fixed and for random q and k, biases, what a query sees. Nothing is trained.

  posexp explain rope alibi                      side by side; writes explain_rope_alibi.html
  posexp explain rope rope theta=1e5 gemma3      settings stand behind the name they are for
  posexp explain t5 model.n_heads=8 --length 512 --out t5.html
  posexp explain my_scheme --plugin my_scheme.py

Settings are those of posexp train: of the scheme (with or without scheme. in front), span and
model. A page that was written by this command may be written again; nothing else is overwritten.
"""

WANDB = """\
Runs are tracked with W&B, offline unless you are logged in: one run a job, grouped by sweep.

  posexp wandb sync DIR     upload the runs of a sweep or a job that were recorded offline
  posexp wandb dashboard    a workspace and a report with the panels of a position study

posexp wandb ACTION --help explains each. A sweep that W&B itself decides on, with wandb agent, is
described in conf/tracking/README.md.
"""

WANDB_SYNC = """\
Upload the runs of a sweep, or of one job, that were recorded offline. The files of a job that was
resumed are joined into one run first: steps that were trained twice are taken from the last time.
Running jobs are left out. What was uploaded is marked and left alone the next time.

  posexp wandb sync runs/2026-01-31_12-00-00_sweep

The exit code is 1 if a run could not be uploaded.
"""

WANDB_DASHBOARD = """\
Make a workspace and a report in a W&B project, or bring both up to date: loss against length by
scheme with bands over seeds, gain over the training length, loss by position, far retrieval,
throughput, memory and failures. Needs pip install 'posexp[dashboard]'.

  posexp wandb dashboard --project posexp --entity my-team
  posexp wandb dashboard --out dashboard.json          only the definitions, in a file

When nobody is logged in, the definitions are written to posexp-dashboard.json. An update puts the
panels back as they were made: keep changes of yours in a copy of the workspace.

Lines are means over the runs of one setting (scheme, span, task). Where a sweep changes something
else, name it: --group-by scheme.theta.
"""

CHECKPOINT = """\
Put a checkpoint that was written with trainer.sharded_checkpoints=true together into one file that
plain torch.load(weights_only=True) opens, beside it. Nothing is overwritten.

  posexp checkpoint consolidate runs/.../checkpoints/last.ckpt    or the job's directory

posexp eval and posexp generate read a sharded checkpoint as it is.
"""

PREPARE = """\
Turn .txt, .jsonl and .parquet files, directories of them, or a dataset of Hugging Face into a
directory of tokens that training maps into memory instead of reading it whole:

  posexp prepare books/*.txt --out tokens
  posexp prepare web/ --out tokens --tokenizer tokenizer.json --workers 8 --column content
  posexp prepare web/ --out tokens --tokenizer bpe --vocabulary 8192
  posexp prepare my-team/stories --hf --split train --out tokens
  posexp train data=text data.path=tokens
  posexp prepare --verify tokens                 read it all, and compare it with its manifest

DIR appears when it is whole. After Ctrl-C, a crash or a full disk the same command goes on where
it stopped. The result is the same for any number of workers.
"""

IMPORT_HF = """\
Translate a checkpoint in the Hugging Face format, a directory with config.json and its weights,
into a posexp run: its architecture as model settings, its positions as a scheme, its tokenizer.json
as it is. posexp eval and posexp generate then read it like any other.

  posexp import-hf Llama-2-7b-hf --context-length 2048
  posexp eval runs/Llama-2-7b-hf evaluation.lengths=[1024,2048,4096]
  posexp eval runs/Llama-2-7b-hf scheme=yarn scheme.factor=4

Llama (1 to 3, scaled positions too), GPT-2, GPT-NeoX, GPT-J, BLOOM, and the text model of Gemma 3.
What would be another model here is refused before anything is written; fields of config.json that
no table knows are listed. --context-length says what counts as the training length T, by which
posexp eval goes: a model of 131,072 tokens would be evaluated at up to 8 times as many. A family
from a file of your own: --plugin my_family.py.
"""

BENCH = """\
Measure what every scheme costs against NoPE on the fused causal kernel: attention alone, a whole
training step, peak memory, and decoding. Both sides of a ratio take turns in one run, so a machine
that slows down slows both. A scheme that cannot be measured is recorded, and the others go on.

  posexp bench                                              every registered scheme, about an hour
  posexp bench --schemes "rope,rope scheme.layout=half,nope span=256" --parts step
  posexp bench --schemes "t5,t5 model.kernel=eager" --parts attention --attention-lengths 1024
  posexp bench --parts step --peers                         and x-transformers, litgpt, HF Llama

A scheme is written NAME key=value ..., with the settings of posexp train; span=256 is a window of
256 keys. --peers needs pip install 'posexp[peers]'. Leave the machine alone meanwhile. Tables go to
the terminal, results.json and ratios.png to a new directory.
"""
