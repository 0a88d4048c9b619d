"""Log lines: one an event, no secret, no stack; and the file that stays bounded."""

import io
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from twisted.logger import Logger, LogLevel, globalLogPublisher
from twisted.python import log as legacy
from twisted.python.failure import Failure

from ahpd.daemon.log import BoundedFile, format_line, observer, redact


def line(text, secrets=(), **fields):
    return format_line(
        {"log_format": text, "log_level": LogLevel.warn, "log_time": 0.0, **fields}, secrets
    )


def test_a_line_is_its_time_its_level_and_its_words():
    assert re.fullmatch(
        r"19(69|70)-\d\d-\d\dT\d\d:\d\d:00[+-]\d{4} warn hello you\n",
        line("hello {who}", who="you"),
    )


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\n\n\nb\n", "\n a\nb"])
def test_an_event_never_takes_a_second_line(text):
    assert line("{t}", t=text).endswith("a | b\n")
    assert line("{t}", t=text).count("\n") == 1


@pytest.mark.parametrize("mark", ["\x1b[31m", "\x07", "\x9b31m", "\u202e", "\u2066", "\u2028"])
def test_what_steers_a_terminal_does_not_reach_one(mark):
    assert mark[0] not in line("{t}", t=f"a{mark}red")


def test_a_line_is_bounded():
    text = line("{t}", t="x" * 1_000_000)
    assert len(text) < 5000
    assert text.endswith("(1000000 characters)\n")


def test_secrets_and_tokens_in_urls_are_taken_out():
    text = line("{u} {t}", ["s3cret"], u="GET /x?a=1&tkn=abc%20def&b=2", t="Bearer s3cret")
    assert "abc" not in text
    assert "s3cret" not in text
    assert "tkn=<token>&b=2" in text


def failing():
    try:
        {}["missing"]
    except KeyError:
        return Failure()


def test_a_failure_is_one_line_that_names_its_place_and_no_stack():
    text = line("the turn {t}", t="7", log_failure=failing())
    assert "the turn 7: KeyError: 'missing' (in failing, test_log_lines.py:" in text
    assert "Traceback" not in text
    assert text.count("\n") == 1


def test_a_failure_that_a_library_logs_the_older_way_is_one_line_too():
    """So is what a protocol raises, and what a thread of Twisted's pool does."""
    events = []
    globalLogPublisher.addObserver(events.append)
    try:
        legacy.err(failing())
        legacy.err(failing(), "reading a socket")
        legacy.msg("no failure", isError=1)
    finally:
        globalLogPublisher.removeObserver(events.append)
    plain, described, other = (format_line(event) for event in events)
    assert "critical KeyError: 'missing' (in failing, test_log_lines.py:" in plain
    assert "critical reading a socket: KeyError: 'missing' (in failing, " in described
    assert "Traceback" not in plain + described
    assert other.endswith("critical no failure\n")


def test_what_fails_in_here_because_of_a_plugin_is_said_of_the_plugin(tmp_path):
    plugin = tmp_path / "plugin.py"
    code = compile("def told(call):\n    return call(None, ())\n", str(plugin), "exec")
    space = {}
    exec(code, space)

    def failure_of(call):
        try:
            call()
        except TypeError:
            return Failure()

    assert "(in told, plugin.py:2)" in line(
        "", log_failure=failure_of(lambda: space["told"](redact))
    )


def test_what_fails_in_here_with_nobody_else_is_said_of_its_own_line():
    try:
        redact(None, ())
    except TypeError:
        failure = Failure()
    failure.frames = failure.frames[1:]  # without this test's own
    assert "(in redact, log.py:" in line("", log_failure=failure)


def test_a_failure_without_words_is_no_stack_either():
    file = io.StringIO()
    log = Logger(namespace="ahpd.x", observer=observer(file, ["missing"]))
    log.failure("", failure=failing())
    assert "Traceback" not in file.getvalue()
    assert "KeyError: '<secret>'" in file.getvalue()


def test_libraries_are_heard_from_warnings_on():
    file = io.StringIO()
    watch = observer(file, [])
    for namespace in ("ahpd.peers", "twisted.internet", "autobahn.websocket"):
        for level in (LogLevel.debug, LogLevel.info, LogLevel.warn):
            Logger(namespace=namespace, observer=watch).emit(level, f"{namespace} {level.name}")
    words = [entry.split(" ", 2)[2] for entry in file.getvalue().splitlines()]
    assert words == [
        "ahpd.peers info",
        "ahpd.peers warn",
        "twisted.internet warn",
        "autobahn.websocket warn",
    ]


def test_the_file_is_private_and_appended_to(tmp_path):
    path = tmp_path / "daemon.log"
    for text in ("one\n", "two\n"):
        file = BoundedFile(path)
        file.write(text)
        file.close()
    assert path.read_text() == "one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_is_put_aside_before_it_is_too_large_and_only_so_many_are_kept(tmp_path):
    path = tmp_path / "daemon.log"
    file = BoundedFile(path, limit=20, kept=2)
    for number in range(10):
        file.write(f"line {number:03}\n")  # 9 bytes
    file.close()
    names = sorted(entry.name for entry in tmp_path.iterdir())
    assert names == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    kept = "".join((tmp_path / name).read_text() for name in reversed(names))
    assert kept == "".join(f"line {number:03}\n" for number in range(4, 10))
    assert all((tmp_path / name).stat().st_size <= 20 for name in names)


def test_threads_that_log_at_once_lose_no_line_and_write_to_no_closed_file(tmp_path):
    file = BoundedFile(tmp_path / "daemon.log", limit=40, kept=200)

    def write(letter):
        for number in range(100):
            file.write(f"{letter} {number:03}\n")  # 6 bytes
            file.flush()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, "abcdefgh"))
    file.close()
    kept = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert sorted(kept) == [
        f"{letter} {number:03}" for letter in "abcdefgh" for number in range(100)
    ]


def test_a_line_longer_than_the_bound_is_kept_whole(tmp_path):
    path = tmp_path / "daemon.log"
    file = BoundedFile(path, limit=10, kept=1)
    file.write("x" * 50 + "\n")
    file.write("y\n")
    file.close()
    assert path.read_text() == "y\n"
    assert (tmp_path / "daemon.log.1").read_text() == "x" * 50 + "\n"


def test_text_that_is_no_unicode_does_not_stop_the_log(tmp_path):
    file = BoundedFile(tmp_path / "daemon.log")
    file.write("a\udc80\n")
    file.close()
    assert (tmp_path / "daemon.log").read_bytes() == b"a\\udc80\n"


def test_standard_error_follows_the_file(tmp_path):
    kept = os.dup(2)
    try:
        file = BoundedFile(tmp_path / "daemon.log", limit=20, standard_error=True)
        file.write("a first line here\n")
        file.write("a second\n")
        os.write(2, b"raw\n")
        file.close()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    assert (tmp_path / "daemon.log").read_text() == "a second\nraw\n"
