"""Pages read as text, and what the providers of a search answer."""

import json
import time

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st

from ahpd.testing.engines import engine_ports
from ahpd_agent_openai.tools.switches import Switches
from ahpd_agent_openai.tools.toolbox import make_toolbox
from ahpd_agent_openai.tools.values import CallContext, ToolProblem
from ahpd_agent_openai.tools.web.asking import Answer
from ahpd_agent_openai.tools.web.markup import Tag, tokens
from ahpd_agent_openai.tools.web.providers import Brave, DuckDuckGo, Result, Tavily
from ahpd_agent_openai.tools.web.readable import readable

ensure = pytest_twisted.ensureDeferred


# -- markup -----------------------------------------------------------------------------


def test_tags_text_and_references_are_told_in_order():
    page = "<P Class='x' hidden>a &lt;b&gt; &#233;<br/>c</p><!-- <i> --><!doctype x>d"
    assert list(tokens(page)) == [
        Tag("p", attributes={"class": "x", "hidden": ""}),
        "a <b> é",
        Tag("br"),
        "c",
        Tag("p", closing=True),
        "d",
    ]


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("<a href='x>y'>z", [Tag("a", attributes={"href": "x>y"}), "z"]),
        ("a < b", ["a ", "<", " b"]),
        ("<script>if (a<b) '</p>'</script>x", [Tag("script"), "if (a<b) '</p>'", Tag("script", closing=True), "x"]),
        ("<SCRIPT>x</ScRiPt >y", [Tag("script"), "x", Tag("script", closing=True), "y"]),
        ("<style>never closed <p>", [Tag("style"), "never closed <p>"]),
        ("<p", [Tag("p")]),
        ("x<!-- never closed", ["x"]),
        ("&#" + "9" * 5000 + ";", ["&#" + "9" * 5000 + ";"]),
        ("<p>it's</p>", [Tag("p"), "it's", Tag("p", closing=True)]),
        ("<p it's>x", [Tag("p", attributes={"it's": ""}), "x"]),
    ],
)  # fmt: skip
def test_broken_pages_are_read_as_they_are(page, told):
    assert list(tokens(page)) == told


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<a b='", '<a b="', "<!--", "</", "<script>", "<a href=x ", "&", "&#x", "<a 'b\"", "<p><a>",
     "<td>", "<li>", "<pre>", "İ<title>", "<!", "<?", "</title", "<svg>"],
)  # fmt: skip
def test_no_page_takes_more_than_its_length(piece):
    """Four times as long takes about four times as long, not sixteen."""

    def seconds(count):
        started = time.process_time()
        readable(piece * count, "http://x/")
        return time.process_time() - started

    seconds(1000)
    # The least of several: whatever else a machine does only adds to it.
    small, large = (min(seconds(count) for _ in range(3)) for count in (20_000, 80_000))
    assert large < 0.3 or large < 10 * small


@given(st.text(alphabet="<>/!-'\"= abpre&;#x\n", max_size=80))
def test_any_text_is_a_page(page):
    title, text = readable(page, "http://x/")
    assert isinstance(title, str)
    assert "\n\n\n" not in text


def test_a_page_is_read_as_people_see_it():
    page = """
    <html><head><title>  The
     title </title><style>p { color: red }</style></head><body>
    <nav><a href="/">Home</a> <a href="#top">Top</a> <a href="javascript:x()">Do</a></nav>
    <h2>A <em>head</em></h2><p>First   line<br>second &amp; last</p>
    <ul><li>one</li><li>two <b>bold</b></li></ul>
    <pre>  keep
    this</pre><table><tr><td>a</td><td>b</td></tr></table>
    <script>alert("<p>no</p>")</script><svg><text>no</text></svg>
    <a href="../up?q=1">up
    there</a></body></html>
    """
    title, text = readable(page, "http://site.test/a/b")
    assert title == "The title"
    assert text == (
        "[Home](http://site.test/) Top Do\n\n"
        "## A head\n\nFirst line\nsecond & last\n\n- one\n- two bold\n\n"
        "  keep\n    this\n\na | b\n\n[up there](http://site.test/up?q=1)"
    )


# -- providers ------------------------------------------------------------------------------

BRAVE = {
    "type": "search",
    "query": {"original": "q"},
    "mixed": {"type": "mixed"},
    "web": {
        "type": "search",
        "results": [
            {"title": "First &amp; best", "url": "https://a.test/", "description": "About <strong>a</strong>",
             "language": "en", "family_friendly": True},
            {"title": "No page"},
            {"url": "https://b.test/x", "title": "", "description": None},
        ],
    },
}  # fmt: skip
TAVILY = {
    "query": "q",
    "answer": None,
    "images": [],
    "results": [
        {"title": "First", "url": "https://a.test/", "content": "About\n a", "score": 0.98, "raw_content": None}
    ],
    "response_time": 1.2,
}  # fmt: skip
DUCK = """
<div class="results"><div class="result results_links results_links_deep web-result ">
 <h2 class="result__title"><a rel="nofollow" class="result__a"
  href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2Fx%3Fy%3D1&amp;rut=abc">First <b>one</b></a></h2>
 <a class="result__url" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test">a.test</a>
 <a class="result__snippet" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test">About
  <b>a</b> &amp; b</a></div>
 <div class="result result--ad"><a class="result__a"
  href="https://duckduckgo.com/y.js?ad_domain=x&amp;u3=y">An ad</a><a class="result__snippet">Buy</a></div>
 <div class="result"><a class="result__a" href="https://b.test/">Second</a></div></div>
"""


def test_braves_answer_is_read():
    assert Brave("key").results(json.dumps(BRAVE).encode()) == [
        Result("First & best", "https://a.test/", "About a"),
        Result("https://b.test/x", "https://b.test/x", ""),
    ]
    assert Brave("key").results(b'{"type": "search"}') == []


def test_tavilys_answer_is_read():
    assert Tavily("key").results(json.dumps(TAVILY).encode()) == [
        Result("First", "https://a.test/", "About a")
    ]


def test_duckduckgos_page_is_read_without_its_advertisements():
    found = DuckDuckGo().results(DUCK.encode())
    assert [(result.title, result.url) for result in found] == [
        ("First one", "https://a.test/x?y=1"),
        ("Second", "https://b.test/"),
    ]
    assert found[0].snippet.startswith("About a & b")


@pytest.mark.parametrize("provider", [Brave("key"), Tavily("key"), DuckDuckGo()])
@pytest.mark.parametrize(
    "data", [b"", b"<html>Too many requests", b"[1]", b'{"results": 3}', b"null", b'{"web": 3}']
)
def test_an_answer_that_is_none_is_a_problem_or_nothing(provider, data):
    problem = None
    try:
        found = provider.results(data)
    except ToolProblem as error:
        found, problem = [], str(error)
    assert found == []
    assert problem is None or provider.name in problem


def test_what_is_asked_holds_its_key_in_a_header_alone():
    brave, tavily, duck = Brave("sec"), Tavily("sec"), DuckDuckGo()
    asked = brave.ask("a b&c", 8)
    assert asked.url == "https://api.search.brave.com/res/v1/web/search?q=a+b%26c&count=8"
    assert asked.headers["X-Subscription-Token"] == "sec"
    asked = tavily.ask("a", 50)
    assert (asked.method, json.loads(asked.body)) == ("POST", {"query": "a", "max_results": 20})
    assert asked.headers["Authorization"] == "Bearer sec"
    assert duck.ask("a b", 8).url == "https://html.duckduckgo.com/html/?q=a+b"
    for provider in (brave, tavily):
        assert "sec" not in repr(provider)
        asked = provider.ask("q", 1)
        assert "sec" not in repr(asked)
        assert asked.redirects == 0


# -- the tool ------------------------------------------------------------------------------------


class ScriptedWeb:
    """Answers by the host asked: an `Answer`'s fields, or a problem."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    async def ask(self, ask):
        host = ask.url.split("/")[2]
        self.asked.append(host)
        found = next(value for key, value in self.answers.items() if key in host)
        if isinstance(found, Exception):
            raise found
        return Answer(
            **{"url": ask.url, "status": 200, "kind": "", "charset": None, "data": b"", **found}
        )


async def searched(tmp_path, web, *providers, **arguments):
    from twisted.internet import reactor

    ports = engine_ports(reactor, tmp_path)
    box = make_toolbox(ports, folders=[], switches=Switches(search=providers), web=web)
    arguments = {"query": "q", **arguments}
    call = CallContext(session="s", chat="c", turn_id="t", tool_call_id="c")
    described = box.describe("web_search", arguments)
    assert described.permission.kind == "custom-tool"
    assert described.effects.network
    return await box.run("web_search", arguments, call)


@ensure
async def test_the_first_provider_that_answers_is_the_one(tmp_path):
    web = ScriptedWeb(
        brave={"status": 429},
        tavily={"data": json.dumps(TAVILY).encode()},
        duck={"data": DUCK.encode()},
    )
    outcome = await searched(tmp_path, web, Brave("k"), Tavily("k"), DuckDuckGo())
    assert outcome.text == "1. First\n   https://a.test/\n   About a"
    assert web.asked == ["api.search.brave.com", "api.tavily.com"]


@pytest.mark.parametrize(
    "broken",
    [{"status": 500}, {"status": 302, "leads_to": "http://x/"}, {"data": b"{"}, {"data": b"{}", "cut": True},
     ToolProblem("it did not answer")],
)  # fmt: skip
@ensure
async def test_a_provider_that_fails_is_skipped(tmp_path, broken):
    web = ScriptedWeb(tavily=broken, duck={"data": DUCK.encode()})
    outcome = await searched(tmp_path, web, Tavily("k"), DuckDuckGo(), count=1)
    assert outcome.success
    assert outcome.text.startswith("1. First one\n")
    assert "2." not in outcome.text


@ensure
async def test_where_nobody_answers_it_is_told_who_and_why(tmp_path):
    web = ScriptedWeb(brave={"status": 401}, duck=ToolProblem("no such host"))
    outcome = await searched(tmp_path, web, Brave("k"), DuckDuckGo())
    assert not outcome.success
    assert outcome.text == (
        "nobody could be asked. brave: it answered with HTTP 401; duckduckgo: no such host"
    )


@ensure
async def test_nothing_found_is_an_answer(tmp_path):
    outcome = await searched(
        tmp_path, ScriptedWeb(tavily={"data": b'{"results": []}'}), Tavily("k")
    )
    assert outcome.success
    assert outcome.text == "[nothing was found]"
