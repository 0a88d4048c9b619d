"""Makes a folder with the ACP SDK for Python and its examples.

    python fetch_examples.py FOLDER

`ACP_EXAMPLES` has to name it, which is what is printed. The SDK is in an environment of its own
there, `env`: the examples come in its source distribution alone, beside it. A folder that has
them is left as it is.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SDK = "agent-client-protocol==0.12.1"
EXAMPLES = ("agent.py", "echo_agent.py")


def main():
    folder = Path(sys.argv[1])
    if not all((folder / name).exists() for name in EXAMPLES):
        python = folder / "env" / "bin" / "python"
        folder.mkdir(parents=True, exist_ok=True)
        run(sys.executable, "-m", "venv", folder / "env")
        run(python, "-m", "pip", "install", "-q", SDK)
        unpack(folder)
    print(folder)


def unpack(folder):
    command = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", SDK]
    with tempfile.TemporaryDirectory() as got:
        run(sys.executable, *command, "--dest", got)
        (archive,) = Path(got).glob("*.tar.gz")
        with tarfile.open(archive) as source:
            for member in source.getmembers():
                if member.isfile() and "/examples/" in member.name:
                    (folder / Path(member.name).name).write_bytes(source.extractfile(member).read())


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    main()
