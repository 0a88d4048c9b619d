"""Run the benches: `python tests/bench/run.py [--quick] [--json FILE] [NAME ...]`.

Each prints its ratio, its raw figures and the bound it is held to, with `MISSED`
where it is past it. A bound that is missed is a finding, not a failure of the run: the
exit code is 1 only when something could not be measured, and 2 for a wrong command
line. Nothing here is timed by the tests.
"""

import argparse
import os
import platform
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType

# The benches are programs, not a package: `ahpd` is this checkout's, whatever is installed.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import bench_agents
import bench_delta
import bench_fanout
import bench_latency
import bench_plugins
import bench_replay
import bench_resources
import bench_sessions
import bench_snapshot
import bench_start
import bench_store
import bench_stream
import bench_terminals
import bench_wake
from report import Figure, NotMeasured, Skipped, print_figures, write_json

BENCHES: tuple[ModuleType, ...] = (
    bench_fanout,
    bench_latency,
    bench_delta,
    bench_snapshot,
    bench_replay,
    bench_start,
    bench_sessions,
    bench_stream,
    bench_store,
    bench_wake,
    bench_terminals,
    bench_resources,
    bench_agents,
    bench_plugins,
)


def arguments() -> argparse.Namespace:
    """The command line."""
    names = [bench.NAME for bench in BENCHES]
    parser = argparse.ArgumentParser(description="Measure the host against its bounds.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parsed = parser.parse_args()
    unknown = [name for name in parsed.names if name not in names]
    if unknown:
        parser.error(f"no bench is called {', '.join(unknown)}; there are {', '.join(names)}")
    return parsed


def run(bench: ModuleType, quick: bool, problems: list[str]) -> list[Figure]:
    """One bench's figures, printed. What it could not measure is added to `problems`."""
    print(f"\n{bench.TITLE}", flush=True)
    began = time.monotonic()
    figures: list[Figure] = []
    for part in bench.parts(quick):
        try:
            measured: list[Figure] = part()
        except Skipped as reason:
            print(f"  SKIPPED: {reason}")
        except NotMeasured as reason:
            print(f"  NOT MEASURED: {reason}")
            problems.append(f"{bench.NAME}: {reason}")
        except Exception as error:
            traceback.print_exc()
            print(f"  NOT MEASURED: {error!r}")
            problems.append(f"{bench.NAME}: {error!r}")
        else:
            print_figures(measured)
            sys.stdout.flush()
            figures += measured
    print(f"  ({time.monotonic() - began:.0f} s)", flush=True)
    return figures


def main() -> int:
    """Run what was named, or everything, and say what was missed."""
    asked = arguments()
    print(
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    figures: list[Figure] = []
    problems: list[str] = []
    for bench in BENCHES:
        if not asked.names or bench.NAME in asked.names:
            figures += run(bench, asked.quick, problems)
    held = [figure for figure in figures if figure.bound is not None]
    missed = [figure for figure in held if figure.verdict == "MISSED"]
    print(f"\n{len(held) - len(missed)} of {len(held)} bounds met")
    for figure in missed:
        print(f"  MISSED  {figure.bench}: {figure.name} is {figure.value:.3g}, not {figure.bound}")
    for words in problems:
        print(f"  NOT MEASURED  {words}")
    if asked.json:
        write_json(asked.json, figures, problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
