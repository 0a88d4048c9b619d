"""The resources of the host: what clients reach by URI.

`service` sends each command to whoever serves the URI's scheme
(`ahpd/interfaces/resources.py`). `files` serves `file:`, the files of this machine, and
`watching` tells of their changes.
"""
