"""Training: one job from its resolved config to weights, on Lightning."""
