from posexp.report.english import are, listed, s


def test_lists_read_as_english():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(list("abcde")) == "a, b, c, d and e"
    assert listed(list("abcdefg")) == "a, b, c, d and 3 others"
    assert (are(["a"]), are(["a", "b"]), s(["a"]), s(["a", "b"])) == ("is", "are", "s", "")
