"""The language of a text is recognised; code, lists and single words have none."""

import pytest

from search.languages import function_words, language_of, language_of_query

TEXTS = {
    "cs": "Klíč je v kuchyni, ale dveře jsou otevřené a nikdo není doma.",
    "da": "Nøglen ligger i køkkenet, men døren er åben, og der er ikke nogen hjemme.",
    "de": "Der Schlüssel liegt in der Küche, aber die Tür ist offen und niemand ist zu Hause.",
    "el": "Το κλειδί είναι στην κουζίνα, αλλά η πόρτα είναι ανοιχτή.",
    "en": "The key is in the kitchen, but the door is open and nobody is at home.",
    "es": "La llave está en la cocina, pero la puerta está abierta y no hay nadie en casa.",
    "fi": "Avain on keittiössä, mutta ovi on auki eikä kukaan ole kotona.",
    "fr": "La clé est dans la cuisine, mais la porte est ouverte et il n'y a personne à la maison.",
    "hu": "A kulcs a konyhában van, de az ajtó nyitva van, és nincs otthon senki sem.",
    "it": "La chiave è in cucina, ma la porta è aperta e non c'è nessuno in casa.",
    "ja": "鍵は台所にありますが、ドアは開いていて、誰もいません。",
    "ko": "열쇠는 부엌에 있지만 문은 열려 있고 아무도 없습니다.",
    "nl": "De sleutel ligt in de keuken, maar de deur is open en er is niemand thuis.",
    "pl": "Klucz jest w kuchni, ale drzwi są otwarte i nie ma nikogo w domu.",
    "pt": "A chave está na cozinha, mas a porta está aberta e não há ninguém em casa.",
    "ru": "Ключ лежит на кухне, но дверь открыта, и дома никого нет.",
    "sv": "Nyckeln ligger i köket, men dörren är öppen och ingen är hemma.",
    "th": "กุญแจอยู่ในครัว แต่ประตูเปิดอยู่และไม่มีใครอยู่บ้าน",
    "tr": "Anahtar mutfakta, ama kapı açık ve evde hiç kimse yok.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_sentence_is_recognised(language: str) -> None:
    assert language_of(TEXTS[language]) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Wasser",
        "def main(args): return run(args.path, args.force)",
        "server { listen 80; server_name example.org; root /var/www/html; }",
        "Anna Berg, Lübeck, 0451 77120934",
        "1.204,55 EUR 12.03.2024 88-2024-0419",
    ],
)
def test_code_and_lists_have_no_foreign_language(text: str) -> None:
    assert language_of(text) in ("", "en")


def test_the_language_of_a_query_is_one_of_the_index() -> None:
    assert language_of_query("Wie viel Kaution muss ich zahlen", {"de", "fr"}) == "de"
    assert language_of_query("Kosten für Heizung", {"de"}) == "de"
    assert language_of_query("what is the price of the door", {"nl"}) == "en"
    assert language_of_query("Kaution", {"de"}) == ""


def test_an_english_word_alone_makes_no_query_foreign() -> None:
    assert language_of_query("open door", {"nl"}) == ""  # a preposition in Dutch
    assert language_of_query("die hats", {"de"}) == ""


def test_function_words_are_case_folded_and_never_empty() -> None:
    for language in TEXTS:
        words = function_words(language)
        assert words == {word.casefold() for word in words}
        assert words or language in {"ja", "ko", "th"}
