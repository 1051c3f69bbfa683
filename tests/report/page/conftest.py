"""The study of a made-up sweep, and what its page says in one section."""

import html
import re

import pytest

from posexp.report.analyse import analyse
from posexp.report.comparison import compare
from posexp.report.page import report_page
from posexp.report.sweeps import read_sweeps


@pytest.fixture
def study_of():
    """`study_of(directory, ..., baseline=None)`."""

    def study(*directories, baseline=None):
        sweeps = read_sweeps(directories)
        return analyse(directories, sweeps, compare(sweeps.jobs, baseline))

    return study


@pytest.fixture
def read(study_of):
    """`read(directory, ...)`: anchor of a section -> its words, tables row by row."""

    def sections(*directories):
        text = report_page(study_of(*directories))
        parts = re.split(r'<section id="(\w+)">', text)
        return {name: words(part) for name, part in zip(parts[1::2], parts[2::2], strict=True)}

    return sections


def words(markup):
    """What a reader sees of markup, cells apart by bars and rows by line ends."""
    markup = re.sub(r"</t[dh]>", "|", markup)
    markup = re.sub(r"</(tr|p|li|div|figcaption|h2|h3)>", "\n", markup)
    return html.unescape(re.sub(r"<[^>]+>", " ", markup))
