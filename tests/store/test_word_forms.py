"""Words are found in their forms, in the languages of an index: inflected, in compounds, and without spaces."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import search
from search import Encoder, Index
from search.index import searcher_of

TEXTS = {
    "de/miete": "Die Häuser in der Straße sind alt, und der Vertrag nennt eine Mietkaution, die zu zahlen ist.",
    "de/kueche": "Der Wasserkocher steht in der Küche neben dem Herd, und die Miete ist schon bezahlt.",
    "de/wasser": "Das Wasser ist kalt, und der Kocher ist leider kaputt.",
    "de/haftung": "Die Haftpflichtversicherung und die Unterschrift sind in der Mappe, die auf dem Tisch liegt.",
    "el": "Η οδός είναι κοντά στο σπίτι και ο αριθμός είναι πάνω από την πόρτα.",
    "en": "The password of the house is in the drawer, and the lease is on the table.",
    "es": "La habitación está en el segundo piso y las llaves están en la cocina.",
    "fi": "Sopimus on laatikossa, mutta se korjataan, kun talossa on joku.",
    "hu": "A házak az utca végén vannak, és a kulcs itt van, mert nem volt más hely.",
    "ja": "会議室の予約はこちらです。契約書は棚にあります。",
    "ko": "계약서는 서랍에 있습니다. 열쇠는 부엌에 있습니다.",
    "nl": "De huurprijs van het huis is hoger dan de prijs van een kamer en wordt elk jaar aangepast.",
    "ru": "Договор аренды квартиры был подписан в мае, и деньги были заплачены сразу.",
    "th": "สัญญาเช่าบ้านอยู่ในลิ้นชัก และเงินมัดจำจ่ายแล้ว",
    "tr": "Kapının yanındaki ışık bozuk ve bu nedenle gece çok karanlık olur.",
}


@pytest.fixture(scope="module")
def index(tiny: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Index:
    of_texts = Index.create(str(tmp_path_factory.mktemp("forms") / "index"), encoder=tiny)
    of_texts.upsert({"id": name, "text": text} for name, text in TEXTS.items())
    return of_texts


def hits(index: Index, query: str) -> list[str]:
    return [hit.document for hit in index.query(query, mode="lexical")]


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("Haus", "de/miete"), ("haeuser", "de/miete"), ("strasse", "de/miete"), ("Verträge", "de/miete"),
        ("Versicherungen", "de/haftung"),
        ("Kaution", "de/miete"), ("Kocher", "de/kueche"), ("Wasser", "de/kueche"), ("οδος", "el"),
        ("habitacion", "es"), ("llave", "es"), ("talo", "fi"), ("hazak", "hu"), ("ház", "hu"), ("契約", "ja"),
        ("会議", "ja"), ("계약", "ko"), ("prijzen", "nl"), ("huurprijzen", "nl"), ("договора", "ru"),
        ("квартира", "ru"), ("สัญญา", "th"), ("มัดจำ", "th"), ("ISIK", "tr"), ("isik", "tr"),
    ],
)  # fmt: skip
def test_a_word_finds_its_forms(index: Index, query: str, document: str) -> None:
    assert document in hits(index, query)


def test_a_prefix_is_no_part_of_a_compound(index: Index) -> None:
    """The rest of "Unterschrift" is no word of the index, and too short for one that need not be."""
    assert hits(index, "Schrift") == []
    assert hits(index, "Pflicht") == []


def test_the_word_itself_ranks_above_compounds_with_it(index: Index) -> None:
    assert hits(index, "Kocher") == ["de/wasser", "de/kueche"]


def test_parts_of_a_compound_are_found_if_it_occurs_nowhere(index: Index) -> None:
    assert set(hits(index, "Mietwasser")) == {"de/wasser", "de/kueche"}
    assert hits(index, "Wasserkocher") == ["de/kueche"]


def test_forms_are_those_of_the_language_of_the_passage(index: Index) -> None:
    assert hits(index, "words") == []  # no compound in English
    assert hits(index, "drawers") == ["en"]


def test_function_words_of_the_query_are_no_keywords(index: Index) -> None:
    assert searcher_of(index).counted_words("Wo ist der Kocher für das Wasser")[0] == (
        "Kocher",
        "Wasser",
    )
    assert searcher_of(index).counted_words("where is the password")[0] == ("is", "the", "password")
    assert searcher_of(index).counted_words("und das")[0] == ("und", "das")  # nothing else is there


def test_forms_are_highlighted_and_the_sum_closes(index: Index) -> None:
    hit = index.query("Kaution", k=1, mode="lexical", explain=True)[0]
    (marks,) = searcher_of(index).highlights("Kaution", [hit])
    assert [hit.text[mark.start : mark.end] for mark in marks] == ["Mietkaution"]
    assert hit.explanation
    assert sum(term.contribution for term in hit.explanation.terms) == pytest.approx(hit.score, abs=1e-9)


def test_an_index_with_other_languages_is_intact(index: Index) -> None:
    assert {finding.severity for finding in index.check().findings} == {"ok"}


def test_a_language_can_be_filtered_by(index: Index) -> None:
    assert {hit.document for hit in index.query("house language=nl", mode="dense", k=20)} == {"nl"}
    assert index.status().languages["de"] == 4
    with pytest.raises(search.InputError, match="no document has a field 'languages'"):
        index.query("house", where="languages = nl")


def test_english_scores_do_not_depend_on_other_languages(tiny: Encoder, tmp_path: Path) -> None:
    english = [{"id": f"{i}", "text": text} for i, text in enumerate(
        ["the badge opens the door", "a lease for the house and a badge", "the house is old and cold"]
    )]  # fmt: skip
    scores = []
    for name, more in (("alone", []), ("mixed", [{"id": "de", "text": TEXTS["de/kueche"]}])):
        own = Index.create(str(tmp_path / name), encoder=tiny)
        own.upsert([*english, *more])
        hits_of_query = own.query("badge house", mode="lexical", explain=True)
        scores.append([hit.document for hit in hits_of_query])
    assert scores[0] == scores[1]


def test_the_default_model_counts_less_for_a_language_that_it_does_not_read(
    real: Encoder, tmp_path: Path
) -> None:
    foreign = Index.create(str(tmp_path / "foreign"), encoder=real)
    foreign.upsert({"id": name, "text": text} for name, text in TEXTS.items())
    assert foreign.query("Wo ist der Kocher", k=1)[0].weight == 0.5
    assert foreign.query("where is the password", k=1)[0].weight == 0.75
    assert foreign.query("Wo ist der Kocher", k=1, weight=0.75)[0].weight == 0.75
    hit = foreign.query("Wo ist der Kocher", k=1, explain=True)[0]
    assert foreign.explain("Wo ist der Kocher", hit).score == pytest.approx(hit.score)
    english = Index.create(str(tmp_path / "english"), encoder=real)
    english.upsert([{"id": "en", "text": TEXTS["en"]}])
    assert english.query("Wo ist der Kocher", k=1)[0].weight == 0.75


def test_an_index_without_languages_is_read_again_and_nothing_is_encoded(
    tiny: Encoder, tmp_path: Path
) -> None:
    folder, path = tmp_path / "folder", tmp_path / "index"
    folder.mkdir()
    for name in ("de/kueche", "en"):
        (folder / f"{name[:2]}.txt").write_text(TEXTS[name], encoding="utf-8")
    Index.build(folder, index=str(path), encoder=tiny)
    with closing(sqlite3.connect(path / "index.db")) as connection, connection:
        connection.execute("DELETE FROM meta WHERE key = 'languages'")
        connection.execute("DROP TABLE languages")
        connection.execute("UPDATE documents SET sha256 = 'of an earlier version' WHERE kind = 'text'")
    again = Index.build(folder, index=str(path), encoder=tiny)
    assert again.report
    assert again.report.encoded == 0
    assert again.status().languages == {"de": 1, "en": 1}
    assert [hit.document for hit in again.query("Küchen", mode="lexical")] == ["de.txt"]
