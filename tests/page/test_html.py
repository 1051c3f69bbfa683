from posexp.page.html import Html, code, escape, join, tag


def test_text_is_escaped_and_markup_is_not_escaped_twice():
    assert escape("<b> & \"'") == "&lt;b&gt; &amp; &quot;&#x27;"
    assert tag("p", "<script>", Html("<i>x</i>")) == "<p>&lt;script&gt;<i>x</i></p>"
    assert code("<b>") == "<code>&lt;b&gt;</code>"


def test_attributes_cannot_end_early():
    assert tag("a", href='x" onclick="y') == '<a href="x&quot; onclick=&quot;y"></a>'


def test_names_of_attributes():
    written = tag("svg", class_="a", data_key="k", viewBox="0 0 1 1", stroke_width=2)
    assert written == '<svg class="a" data-key="k" viewBox="0 0 1 1" stroke-width="2"></svg>'
    assert (
        tag("link", rel="icon", hidden=True, title=None, open=False) == '<link rel="icon" hidden>'
    )


def test_none_is_left_out_and_zero_is_not():
    assert tag("p", None, 0, "") == "<p>0</p>"
    assert join("a<", None, Html("<b>"), by=", ") == "a&lt;, <b>"
