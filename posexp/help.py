"""What `posexp --help` and the verbs' `--help` say."""

COMMAND = """\
posexp: which position scheme, and does it still work past its training length?

usage: posexp VERB ...

  train     train one model, or with -m one for each combination of values, and compare them
  eval      evaluate a checkpoint at other lengths
  report    make the table and the figures of a directory again
  schemes   list the installed position schemes
  prepare   turn text files into a token directory that is memory-mapped

posexp VERB --help explains each. The quickest look: posexp train -m experiment=quick
"""

TRAIN = """\
Train, evaluate at the training length and beyond it, and record everything in one directory.

Settings are Hydra's, written key=value:
  scheme=rope          choose an option of a group: scheme, span, model, data, optimizer, trainer,
                       evaluation, tracking, experiment (posexp schemes list; the rest in conf/)
  scheme.theta=1e5     change one value of what was chosen
  scheme=rope,alibi    several values: a sweep, with -m; one job for each combination

Examples:
  posexp train                                              RoPE, a tiny model, Jane Austen
  posexp train -m scheme=rope,alibi,nope span=full,sliding  six jobs, one table
  posexp train -m experiment=quick seed=0,1,2               eight schemes, three seeds
  posexp train --plan -m experiment=quick                   what that would take
  posexp train data=text data.path=book.txt                 your own text
  posexp train scheme=hybrid scheme@scheme.local=alibi      a scheme inside a scheme
  posexp train --resume runs/2026-01-31_12-00-00_sweep      go on after Ctrl-C or a crash

Each job of a sweep runs in a fresh process in a directory of its own; nothing is overwritten. The
exit code is 0, 1 if a job failed, 2 if a setting is wrong (then nothing was run), 130 after Ctrl-C.
"""

EVAL = """\
Evaluate a checkpoint as `posexp train` does after training. Settings of the group evaluation can be
changed:

  posexp eval runs/.../checkpoints/last.ckpt evaluation.lengths=[128,4096] evaluation.anchors=64
"""

REPORT = """\
Read a sweep's directory (or one job's) and make its table, results.csv, results.json and figures
again. Also works while a sweep runs.
"""

SCHEMES = """\
List the position schemes that are installed: name, distribution, version. Choose one with
posexp train scheme=NAME.
"""

PREPARE = """\
Turn .txt and .jsonl files, or directories of them, into a directory of tokens that training maps
into memory instead of reading it whole:

  posexp prepare books/*.txt --out tokens
  posexp train data=text data.path=tokens
"""
