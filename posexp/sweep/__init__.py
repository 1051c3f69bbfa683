"""Many jobs: each in a fresh process and in its own directory, failures recorded."""
