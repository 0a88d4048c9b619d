"""Unpacks the examples of the ACP SDK for Python, which come in its source distribution alone.

    python fetch_examples.py FOLDER

The version is the one that is installed. Prints the folder that `ACP_EXAMPLES` has to name.
"""

import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

NAME = "agent-client-protocol"


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    wanted = f"{NAME}=={version(NAME)}"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    with tempfile.TemporaryDirectory() as got:
        subprocess.run([*command, "--dest", got, wanted], check=True)
        (archive,) = Path(got).glob("*.tar.gz")
        with tarfile.open(archive) as source:
            for member in source.getmembers():
                if member.isfile() and "/examples/" in member.name:
                    (folder / Path(member.name).name).write_bytes(source.extractfile(member).read())
    print(folder)


if __name__ == "__main__":
    main()
