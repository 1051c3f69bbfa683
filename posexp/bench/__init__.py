"""`posexp bench`: what every scheme costs against NoPE on the fused causal kernel, side by side.

A time alone says little: machines differ, and one machine differs from minute to minute. So every
number is a ratio of two calls that take turns in one run. Start reading at `run.py`; `timing.py`
holds the method.
"""
