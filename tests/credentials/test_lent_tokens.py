"""Which of the tokens a connection lent is spent for a resource."""

from ahpd.credentials.lent import MOST, Lent, LentTokens, Target

API = "https://api.example"


def lent(token, scopes=None, **fields):
    wanted = None if scopes is None else frozenset(scopes)
    return Lent(resource=API, token=token, scopes=wanted, **fields)


def spent(tokens, *scopes, now=0.0, target=None):
    return tokens.spent_for(API, scopes, now, target)


def test_exactly_those_scopes_else_the_fewest_that_cover_them_else_none():
    tokens = LentTokens()
    tokens.put(lent("none"))
    assert spent(tokens, "a") == "none"
    tokens.put(lent("abc", "abc"))
    tokens.put(lent("ab", "ab"))
    assert spent(tokens, "a") == "ab"
    tokens.put(lent("a", "a"))
    assert spent(tokens, "a") == "a"
    assert spent(tokens, "d") == "none"
    assert spent(tokens) == "a", "what covers nothing at all is covered by the fewest"
    assert tokens.spent_for("https://other.example", (), 0.0) is None


def test_a_newer_token_takes_the_place_of_the_one_for_the_same():
    tokens = LentTokens()
    tokens.put(lent("old", "a"))
    tokens.put(lent("new", "a"))
    assert spent(tokens, "a") == "new"
    assert len(tokens) == 1


def test_a_token_with_a_target_is_its_targets_alone():
    tokens = LentTokens()
    here = Target(session="ahp-session:/a", server="s1")
    tokens.put(lent("targeted", target=here))
    assert spent(tokens) is None
    assert spent(tokens, target=here) == "targeted"
    assert spent(tokens, target=Target(session="ahp-session:/a", server="s2")) is None
    assert spent(tokens, target=Target(session="ahp-session:/b", server="s1")) is None
    tokens.put(lent("plain"))
    assert spent(tokens, target=here) == "targeted"
    assert spent(tokens, target=Target(session="ahp-session:/b", server="s1")) == "plain"


def test_taking_back_is_of_a_resource_or_of_one_target():
    tokens = LentTokens()
    here = Target(session="ahp-session:/a", server="s1")
    tokens.put(lent("plain", "a"))
    tokens.put(lent("targeted", target=here))
    tokens.take_back(API, here)
    assert spent(tokens, "a") == "plain"
    tokens.put(lent("targeted", target=here))
    tokens.take_back(API, None)
    assert len(tokens) == 0


def test_what_ran_out_is_not_spent():
    tokens = LentTokens()
    tokens.put(lent("short", expires_at=10.0))
    assert spent(tokens, now=9.9) == "short"
    assert spent(tokens, now=10.0) is None


def test_a_connection_cannot_fill_the_host():
    tokens = LentTokens()
    for number in range(MOST + 10):
        tokens.put(lent(f"t{number}", [str(number)]))
    assert len(tokens) == MOST
    assert spent(tokens, "0") is None
    assert spent(tokens, str(MOST + 9)) == f"t{MOST + 9}"


def test_a_token_shows_in_no_repr():
    assert "hush" not in repr(lent("hush"))
