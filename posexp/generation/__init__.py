"""Text from a trained model: `decode.py` is the loop, `choice.py` how a token is chosen."""
