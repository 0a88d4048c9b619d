"""Wheels made by hand, a process runner, and a plugin root, without a network."""

import os
import subprocess
import zipfile


def make_wheel(folder, name, version="1.0", *, requires=(), points=None, files=None):
    """A wheel in `folder`: `points` are entry points of `ahpd.plugins`, `files` more of its files."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    held = {
        f"{module}/__init__.py": f"VERSION = {version!r}\n",
        **(files or {}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {text}\n" for text in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by-hand\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    if points:
        held[f"{info}/entry_points.txt"] = "[ahpd.plugins]\n" + "".join(
            f"{point} = {module}\n" for point in points
        )
    held[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*held, f"{info}/RECORD"])
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in held.items():
            wheel.writestr(inner, text)
    return path


class Runs:
    """Runs programs to their end, and keeps what was run."""

    def __init__(self):
        self.commands = []

    async def __call__(self, argv, environ, directory):
        self.commands.append(list(argv))
        done = subprocess.run(  # noqa: ASYNC221 - a test has nothing else to do meanwhile
            argv,
            env=dict(environ),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


def offline(folder, home):
    """An environment in which pip finds what is in `folder`, and nothing else."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "PIP_NO_CACHE_DIR": "1",
    }
