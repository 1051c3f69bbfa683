import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from posexp.page import HeatMap
from posexp.page.looks import Looks


def picture(heat):
    written = heat.html(Looks())
    encoded = re.search(r'href="data:image/png;base64,([^"]+)"', written).group(1)
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGBA"))


def read(heat):
    """The values as the page's script reads them."""
    written = heat.html(Looks())
    found = dict(re.findall(r'data-(rows|columns|low|high|values)="([^"]*)"', written))
    shares = np.frombuffer(base64.b64decode(found["values"]), "<u2").astype(float)
    shares[shares == 65535] = np.nan
    low, high = float(found["low"]), float(found["high"])
    values = low + shares / 65534 * (high - low)
    return values.reshape(int(found["rows"]), int(found["columns"]))


def test_the_least_value_fades_into_the_page_and_the_greatest_does_not():
    pixels = picture(HeatMap([[0.0, 1.0], [2.0, 4.0]], "x", "y"))
    assert pixels.shape == (2, 2, 4)
    # Opacity is the share of the range: 0, 1/4, 1/2, 1.
    assert pixels[..., 3].tolist() == [
        [0, pytest.approx(64, abs=1)],
        [pytest.approx(128, abs=1), 255],
    ]


def test_diverging_colours_meet_at_zero():
    pixels = picture(HeatMap([[-2.0, 0.0, 1.0, 2.0]], "x", "y", diverging=True))[0]
    assert pixels[:, 3].tolist() == [255, 0, pytest.approx(128, abs=2), 255]
    blue, orange = pixels[0], pixels[3]
    assert blue[2] > blue[0]
    assert orange[0] > orange[2]


def test_what_is_no_number_is_transparent_and_has_no_value():
    heat = HeatMap([[np.nan, 1.0], [3.0, -np.inf]], "x", "y")
    assert picture(heat)[..., 3][0, 0] == 0
    np.testing.assert_array_equal(np.isnan(read(heat)), [[True, False], [False, True]])


def test_masked_cells_have_no_value():
    values = np.ma.masked_less([[1.0, 5.0]], 2.0)
    assert np.isnan(read(HeatMap(values, "x", "y"))).tolist() == [[True, False]]


def test_values_can_be_read_back():
    values = np.random.default_rng(0).normal(size=(20, 30))
    np.testing.assert_allclose(read(HeatMap(values, "x", "y")), values, atol=np.ptp(values) / 65000)


def test_small_multiples_share_their_limits():
    assert picture(HeatMap([[1.0]], "x", "y", limits=(0.0, 2.0)))[0, 0, 3] == pytest.approx(
        128, abs=1
    )


def test_axes_name_what_the_cells_stand_for(drawing):
    svg = drawing(HeatMap(np.zeros((4, 12)), "distance", "head", x=[10 * i for i in range(12)]))
    texts = [e.text for e in svg.iter("text") if "tick x" in e.get("class")]
    assert texts == ["0", "20", "40", "60", "80", "100"]


@pytest.mark.parametrize("values", [[1.0, 2.0], [[]], [[[1.0]]]])
def test_anything_but_a_matrix_is_refused(values):
    with pytest.raises(ValueError, match="a heat map needs a matrix"):
        HeatMap(values, "x", "y").html(Looks())


def test_numbers_for_the_cells_must_be_as_many():
    with pytest.raises(ValueError, match="3 cells along 'x', but 2 numbers"):
        HeatMap([[1.0, 2.0, 3.0]], "x", "y", x=[1, 2]).html(Looks())


def test_rows_are_counted_downwards_and_the_axis_says_so(drawing):
    svg = drawing(HeatMap(np.zeros((30, 3)), "key", "query"))
    labels = [e for e in svg.iter("text") if e.get("class") == "label y"]
    assert [e.text for e in labels] == ["↓ query"]
    ticks = {e.text: float(e.get("y")) for e in svg.iter("text") if e.get("class") == "tick y"}
    assert ticks["0"] < ticks["8"] < ticks["24"]
