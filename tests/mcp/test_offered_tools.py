"""The names tools are offered under: any model takes them, and no two meet."""

from hypothesis import given
from hypothesis import strategies as st

from ahpd.mcp.listing import offered, served_name

NAMES = st.text(min_size=0, max_size=120)


@given(st.lists(NAMES, unique=True, max_size=20))
def test_every_name_is_taken_by_any_model_and_none_meets_another(names):
    served = [served_name(name) for name in names]
    assert len(set(served)) == len(names)
    for name in served:
        assert len(name) <= 64
        assert all(c.isascii() and (c.isalnum() or c in "_-") for c in name)


def test_a_name_every_model_takes_stays_as_it_is():
    assert served_name("a" * 64) == "a" * 64
    assert served_name("one__openFile") == "one__openFile"


def test_of_two_tools_under_one_name_the_first_is_served():
    found = offered([{"name": "a__b", "title": "the host's"}], [{"name": "b", "clientId": "a"}])
    assert found["a__b"].client is None
    described = found["a__b"].described()
    assert described == {
        "name": "a__b",
        "title": "the host's",
        "inputSchema": {"type": "object"},
    }
