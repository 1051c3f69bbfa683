import pytest
import torch

from posexp.training.checkpoints import read_checkpoint


def test_what_is_not_a_checkpoint_is_said(tmp_path):
    with pytest.raises(ValueError, match="no checkpoint at .*last.ckpt"):
        read_checkpoint(tmp_path)
    garbage = tmp_path / "garbage.ckpt"
    garbage.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not a readable checkpoint"):
        read_checkpoint(garbage)
    foreign = tmp_path / "foreign.ckpt"
    torch.save({"state_dict": {}}, foreign)
    with pytest.raises(ValueError, match="posexp did not write it"):
        read_checkpoint(foreign)
