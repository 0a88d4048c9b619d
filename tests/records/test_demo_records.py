"""The engine `demo`: as many demo agents as somebody wants, each under its own name."""

from ahpd.interfaces import IAgent


def test_a_demo_agent_of_a_record_shows_the_records_words(world):
    rows = (
        {"id": "one", "engine": "demo", "name": "One", "description": "The first"},
        {"id": "two", "engine": "demo", "config": {"paceMs": 0}},
    )
    agents, problems = world.open(*rows)
    assert problems == []
    assert all(IAgent.providedBy(agent) for agent in agents.values())
    info = agents["one"].info()
    assert (info["provider"], info["displayName"], info["description"]) == (
        "one",
        "One",
        "The first",
    )
    assert {model["provider"] for model in info["models"]} == {"one"}
    assert agents["two"].info()["description"].startswith("Answers without a network")


def test_it_takes_a_pace_and_nothing_else(world):
    rows = [
        {"engine": "demo", "config": {"paceMs": -1}},
        {"engine": "demo", "config": {"other": 1}},
        {"engine": "demo", "model": "demo-plain"},
    ]
    agents, problems = world.open(*rows)
    assert agents == {}
    assert [words.partition(": ")[2] for words in problems] == [
        "config.paceMs must be at least 0",
        "config.other is not a known field; known: paceMs",
        "model: the demo agent takes none; its chats choose theirs",
    ]
