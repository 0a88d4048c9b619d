"""Plugins whose `apply` is a function of the test's own, so that it can see what they see."""

CODE = """
    from tests.plugins.applies import APPLIES

    def apply(host, options):
        return APPLIES[host.id](host, options)
"""
#: The functions, by the plugin's id.
APPLIES = {}


def applied(hosted, plugin, apply, **manifest):
    """A plugin of `hosted`'s whose `apply(host, options)` is the function; its entry in the file."""
    APPLIES[plugin] = apply
    return hosted.write(plugin, CODE, **manifest)
