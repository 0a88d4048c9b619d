"""How paths are ranked against what somebody typed."""

from hypothesis import given
from hypothesis import strategies as st

from ahpd.completions.fuzzy import answers_by_name, order, query, score, target


def ranked(typed, *paths):
    wanted = query(typed)
    found = [target(path) for path in paths]
    answering = [(score(wanted, one), one) for one in found]
    answering = [(value, one) for value, one in answering if value]
    return [one.path for value, one in sorted(answering, key=lambda pair: order(*pair))]


def test_what_does_not_hold_the_characters_in_order_is_no_answer():
    assert ranked("abc", "cba.txt", "a/b.txt", "xaxbxcx") == ["xaxbxcx"]


def test_case_makes_no_answer_worse_than_none():
    assert ranked("READ", "readme.md") == ["readme.md"]


def test_the_whole_name_comes_before_its_beginning_and_that_before_parts_of_it():
    paths = ("lib/mainly.py", "src/domain.py", "main", "m/a/i/n.txt", "docs/main.py")
    assert ranked("main", *paths) == [
        "main", "docs/main.py", "lib/mainly.py", "src/domain.py", "m/a/i/n.txt",
    ]  # fmt: skip


def test_a_name_comes_before_a_folder():
    assert ranked("config", "config/zebra.py", "deep/in/the/tree/my_config.py")[0] == (
        "deep/in/the/tree/my_config.py"
    )


def test_a_typed_slash_asks_for_the_path():
    assert ranked("src/ma", "other/sma.py", "src/main.py", "src/deep/ma.py")[0] == "src/main.py"
    assert ranked("src\\ma", "src/main.py") == ["src/main.py"]


def test_the_whole_path_comes_first():
    assert ranked("a/b.py", "x/a/b.py", "a/b.py", "a/b.pyc")[0] == "a/b.py"


def test_beginnings_of_words_count_for_more():
    assert ranked("fb", "afbc.txt", "foo_bar.txt")[0] == "foo_bar.txt"
    assert ranked("fb", "raufbold.txt", "myFooBar.txt")[0] == "myFooBar.txt"


def test_characters_together_count_for_more():
    assert ranked("tok", "xtaaoaak.py", "xtokaaaa.py")[0] == "xtokaaaa.py"


def test_the_same_case_decides_between_likes():
    assert ranked("Ab", "xab1.py", "xAb2.py")[0] == "xAb2.py"


def test_the_shorter_name_comes_first_among_equals():
    assert ranked("util", "utilities.py", "utils.py") == ["utils.py", "utilities.py"]


def test_the_nearer_of_two_alike_comes_first_and_then_the_alphabet_decides():
    assert ranked("x.py", "b/x.py", "a/b/x.py", "a/x.py") == ["a/x.py", "b/x.py", "a/b/x.py"]


def test_wildcards_say_nothing():
    assert ranked("*.py", "a.py", "b.txt") == ["a.py"]


names = st.text(st.sampled_from("abAB_-.ßİ ü𝄞"), min_size=1, max_size=12)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


@given(st.text(max_size=100), st.text(max_size=400))
def test_it_never_raises_whatever_is_held_against_what(typed, path):
    wanted, found = query(typed), target(path)
    value = score(wanted, found)
    assert value == score(wanted, found)
    assert value >= 0
    if value and wanted.text:
        assert answers_by_name(wanted, found) == (value >= 2_000_000)


@given(names.filter(str.strip), names, names)
def test_the_whole_beats_a_beginning_and_that_beats_characters(name, more, folder):
    wanted = query(name)
    whole = score(wanted, target(f"{folder}/{name}"))
    begins = score(wanted, target(f"{folder}/{name}{more}"))
    apart = score(wanted, target(f"{folder}/~{'~'.join(name)}"))
    assert whole > begins > apart > 0


@given(st.lists(paths, unique=True, max_size=12), names, st.randoms())
def test_the_order_of_the_answers_is_not_that_of_the_files(listed, typed, random):
    shuffled = list(listed)
    random.shuffle(shuffled)
    assert ranked(typed, *listed) == ranked(typed, *shuffled)
