import io
import sys

from posexp.sweep.console import kept


def test_what_is_printed_is_shown_and_kept_but_no_progress_bar(capsys):
    log = io.BytesIO()
    with kept(log):
        print("hello")
        print("oops", file=sys.stderr)
        sys.stderr.write("\r 10%")
    print("later")
    captured = capsys.readouterr()
    assert captured.out == "hello\nlater\n"
    assert captured.err == "oops\n\r 10%"
    assert log.getvalue() == b"hello\noops\n"
