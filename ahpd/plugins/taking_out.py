"""Uninstalling a plugin whose entry was taken out of the list, loadable or not.

Source: PLUGINS.txt, "Installing a plugin" (`ahpd plugin remove`).
"""

from collections.abc import Iterable

from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.installing import Installer
from ahpd.plugins.skipped import ERROR
from ahpd.plugins.specs import is_path
from ahpd.plugins.states import Listed
from ahpd.plugins.written import WrittenPlugins


async def take_out(
    row: Listed, others: Iterable[Listed], installer: Installer, written: WrittenPlugins
) -> tuple[bool, str | None]:
    """Uninstall what `row` names, or delete what a client wrote; `others` are still listed.

    Whether it is gone, and else why what is installed stays, in words; None where nothing is.
    Raises `InstallFailure` that says that the entry is gone all the same.
    """
    try:
        own = written.named_by(row.entry.source)
        if own is not None:
            return await written.remove(own), None
        if row.distribution is None:
            return False, _nothing_known(row)
        return await _uninstalled(row.distribution, others, installer)
    except (InstallFailure, OSError) as failure:
        raise InstallFailure(
            f"{row.id} is taken out of the list, and what is installed stays: {failure}"
        ) from None


async def _uninstalled(
    distribution: str, others: Iterable[Listed], installer: Installer
) -> tuple[bool, str | None]:
    for other in others:
        if other.distribution == distribution:
            return False, f"{distribution} stays installed: {other.id} is of it too"
    if await installer.remove(distribution):
        return True, None
    return False, f"{distribution} stays installed: it is in the environment of ahpd"


def _nothing_known(row: Listed) -> str | None:
    """What is said where a name is wrong in a way that leaves open what it names."""
    if row.state == ERROR and not is_path(row.entry.source):
        return f"nothing is uninstalled: {row.problem}"
    return None
