"""What goes wrong with directories that hold results."""


class DirectoryInUseError(ValueError):
    """A directory that already holds something, or is no sweep or job to go on with."""
