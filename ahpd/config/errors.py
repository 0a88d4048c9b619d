"""What is said when the configuration cannot be used."""


class ConfigError(Exception):
    """The configuration cannot be used; `str()` is one line of words for a person.

    The words name the place (file and key's path, or the flag), what was found there
    and what is allowed. They never hold a secret.
    """


class WrongValue(ValueError):
    """A value that a kind does not take, before anybody knows where it stood.

    `at` is the path below the key (`[1]`, or empty), `found` says what was there,
    `allowed` what may be.
    """

    def __init__(self, found: str, allowed: str, at: str = "") -> None:
        super().__init__(f"found {found}, allowed: {allowed}")
        self.found = found
        self.allowed = allowed
        self.at = at
