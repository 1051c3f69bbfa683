"""The tasks that come with posexp, on the same public path as anyone's own."""
