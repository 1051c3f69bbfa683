import shutil
from types import SimpleNamespace

import pytest

from posexp.sweep.disk import DiskSpaceError, check_disk


def test_room_is_asked_for_where_the_sweep_will_be(tmp_path, monkeypatch):
    asked = []

    def usage(path):
        asked.append(path)
        return SimpleNamespace(free=5_000_000_000)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    check_disk(tmp_path / "not" / "yet", [2_000_000_000] * 2)
    assert asked == [tmp_path]
    with pytest.raises(DiskSpaceError, match=r"about 6.0 GB.* has 5.0 GB free.*--ignore-disk"):
        check_disk(tmp_path, [2_000_000_000] * 3)
