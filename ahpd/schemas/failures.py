"""What is wrong with a value, or with the schema it was held to."""


class Misfit(Exception):
    """A value that does not fit; `str()` names its place and what is expected, never a value."""


class BrokenSchema(Misfit):
    """It is the schema that cannot be read; `str()` says where it was wanted."""
