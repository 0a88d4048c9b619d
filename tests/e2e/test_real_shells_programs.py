"""Programs that take the whole terminal, ask it things, or read what nobody may see."""

import base64
import sys

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT

from .sitting import MARKED, SHELLS, at_home, commands, drawn, program

marked_shells = pytest.mark.parametrize("shell", MARKED)

ALTERNATE, BACK = "\x1b[?1049h", "\x1b[?1049l"
ESCAPE = "\x1b"


# -- the whole screen -----------------------------------------------------------------------


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_long_file_is_paged_through(make_daemon, shell):
    program("less")
    it = await at_home(make_daemon, shell)
    text = "".join(f"line {number} of it\n" for number in range(1, 10_001))
    (it.daemon.home / "long").write_text(text)
    it.type("less long\r")
    await it.prints(ALTERNATE)
    await it.shows("line 23 of it")
    assert "line 24 of it" not in drawn(it.text())
    it.type(" ")
    await it.shows("line 46 of it")
    it.type("/line 7777\r")
    await it.shows("line 7799 of it")
    it.resize(100, 40)
    it.type("r")  # one that asks just before it waits for a key hears of a size with that key
    await it.shows("line 7815 of it")
    it.type("G")
    await it.shows("line 10000 of it")
    it.type("q")
    said = await it.prompt(after=1)
    (command,) = commands(said)
    assert (command.line, command.code) == ("less long", 0)
    output = command.output
    assert output.count(ALTERNATE) == output.count(BACK) == 1
    assert output.index(ALTERNATE) < output.index(BACK)


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_file_is_edited(make_daemon, shell):
    program("vim")
    it = await at_home(make_daemon, shell)
    file = it.daemon.home / "a note"
    file.write_text("what was there\n")
    it.type("vim -u NONE -N 'a note'\r")
    await it.prints(ALTERNATE)
    await it.shows("what was there")
    it.type("Owritten é ✓ 日本\x1b")
    await it.prints("日本")
    it.type(":echo 'no ' . 'more'\r")
    await it.shows("no more")
    drawn_anew = it.text().count("\x1b[2J")
    it.resize(60, 15)
    # What was typed before it hears of that is done first.
    await it.until(lambda: it.text().count("\x1b[2J") > drawn_anew, "another screen")
    it.type(":set lines? columns?\r")
    await it.shows("columns=60")
    await it.shows("lines=15")
    it.type("\r:wq\r")
    said = await it.prompt(after=1)
    (command,) = commands(said)
    assert (command.line, command.code) == ("vim -u NONE -N 'a note'", 0)
    assert file.read_text() == "written é ✓ 日本\nwhat was there\n"
    assert await it.ask("stty size") == "15 60\n"


#: Asks the terminal what it is and where its cursor stands, and shows the answers.
ASKS = r"""
import os, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
try:
    for question, last in ((b"\x1b[c", b"c"), (b"\x1b[6n", b"R"), (b"\x1b]11;?\x07", b"\x07")):
        os.write(1, question)
        answer = b""
        while not answer.endswith(last):
            answer += os.read(0, 1)
        os.write(1, b"<" + answer.replace(b"\x1b", b"ESC").replace(b"\x07", b"BEL") + b">\r\n")
finally:
    termios.tcsetattr(0, termios.TCSADRAIN, before)
"""


@pytest.mark.parametrize("shell", SHELLS)
@pytest_twisted.ensureDeferred
async def test_what_a_program_asks_the_terminal_a_client_answers(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    (it.daemon.home / "asks.py").write_text(ASKS)
    it.type(f"{sys.executable} asks.py\r")
    answers = {
        "\x1b[c": "\x1b[?62;22c",
        "\x1b[6n": "\x1b[12;40R",
        "\x1b]11;?\x07": "\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
    }
    for question, answer in answers.items():
        await it.prints(question)
        it.type(answer)
        shown = answer.replace("\x1b", "ESC").replace("\x07", "BEL")
        await it.shows(f"<{shown}>\n")
    await it.prompt(after=1 if shell in MARKED else 0)


# -- what is typed and not shown --------------------------------------------------------------

HIDDEN = {
    "read": ("bash", "read -rsp 'Password: ' it; echo; echo ${#it}"),
    "read of zsh": ("zsh", "read -rs 'it?Password: '; echo; echo ${#it}"),
    "read of fish": ("fish", "read -s -P 'Password: ' it; string length $it"),
    "stty": ("sh", "stty -echo; printf 'Password: '; read it; stty echo; echo; echo ${#it}"),
}


@pytest.mark.parametrize("way", HIDDEN)
@pytest_twisted.ensureDeferred
async def test_a_password_typed_at_a_hidden_prompt_is_input_and_never_output(make_daemon, way):
    shell, line = HIDDEN[way]
    it = await at_home(make_daemon, shell)
    bob = await it.daemon.connect("bob", ROOT)
    await bob.subscribe(it.uri)
    secret = "corr3ct-h0rse"
    it.daemon.secrets.append(secret)
    it.type(line + "\r")
    await it.until(
        lambda: drawn(it.text()).rpartition("Password: ")[1:] == ("Password: ", ""), "it"
    )
    it.type(secret + "\r")
    await it.shows(f"{len(secret)}\n")
    await it.prompt(after=1 if shell in MARKED else 0)
    await bob.ping()
    inputs = [
        said.action["data"] for said in bob.envelopes(it.uri) if said.type == "terminal/input"
    ]
    assert secret + "\r" in inputs
    assert secret not in it.all_text()
    assert secret not in str(it.state)
    assert secret not in str(bob.plain_state(it.uri))


# -- characters -------------------------------------------------------------------------------

CHARACTERS = "é e\u0301 ✓ 日本語 한글 👍🏽 👩‍👩‍👧 𝄞 ﷽ ¡"


@marked_shells
@pytest_twisted.ensureDeferred
async def test_characters_typed_are_shown_and_told_as_they_are(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    (command,) = await it.run(f"echo '{CHARACTERS}'")
    assert command.words == CHARACTERS + "\n"
    assert command.line == f"echo '{CHARACTERS}'"


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest_twisted.ensureDeferred
async def test_characters_printed_byte_by_byte_are_whole(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    octal = " ".join(f"'\\{byte:03o}'" for byte in CHARACTERS.encode())
    script = f'for byte in {octal}; do printf "$byte"; sleep 0.01; done; echo\n'
    (it.daemon.home / "slowly").write_text(script)
    assert await it.ask("sh slowly") == CHARACTERS + "\n"
    pieces = [each["data"] for each in it.actions if each["type"] == "terminal/data"]
    assert not [piece for piece in pieces if "\ufffd" in piece]


WRONG = [
    b"\xff",
    b"a\x80b",
    b"\xc3(",
    b"\xe2\x9c",
    b"\xf0\x9f\x91",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf5\x80\x80\x80",
]


@pytest_twisted.ensureDeferred
async def test_bytes_that_are_no_text_are_replaced_once_each(make_daemon):
    it = await at_home(make_daemon, "bash")
    for wrong in WRONG:
        octal = "".join(f"\\{byte:03o}" for byte in wrong)
        (command,) = await it.run(f"printf '{octal}\\n'")
        assert command.output == wrong.decode(errors="replace") + "\r\n"


@pytest_twisted.ensureDeferred
async def test_any_byte_may_be_typed_that_is_text(make_daemon):
    """Every control but those the terminal acts on, and every length of a character."""
    it = await at_home(make_daemon, "sh")
    text = "".join(map(chr, [*range(1, 0x80), 0x80, 0xA0, 0x7FF, 0x800, 0xFFFD, 0x10FFFF]))
    note = it.daemon.home / "note"
    it.type("stty raw -echo; echo re''ady; head -c $(cat size) > note; stty sane\r")
    (it.daemon.home / "size").write_text(str(len(text.encode())))
    await it.shows("ready\n")
    it.type(text)
    await it.daemon.until(lambda: note.exists() and note.read_bytes() == text.encode(), "it all")


@pytest_twisted.ensureDeferred
async def test_a_large_paste_arrives_whole(make_daemon):
    it = await at_home(make_daemon, "sh")
    note = it.daemon.home / "note"
    pasted = base64.b64encode(bytes(range(256)) * 4000).decode()
    it.type(f"stty raw -echo; echo re''ady; head -c {len(pasted)} > note; stty sane\r")
    await it.shows("ready\n")
    it.type(pasted)
    await it.daemon.until(lambda: note.exists() and note.stat().st_size == len(pasted), "the paste")
    assert note.read_text() == pasted
    await it.prompt()
    assert await it.ask("echo back") == "back\n"
