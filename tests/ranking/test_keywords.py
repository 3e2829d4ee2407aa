"""The keyword score in folders that mix a letter with tables."""

from pathlib import Path

import search

LETTER = """Dear Anna,

the dentist wants 240 euros for the crown, and the other practice in Mill Street takes 180 euros with
the same material. I have written down the opening hours and the number of the insurance for you, so that
you can ring them on Monday. They can also see you before work, and the tram stops in front of the door.
"""


def test_rows_of_a_table_do_not_drown_a_letter(tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "letter.txt").write_text(LETTER, encoding="utf-8")
    rows = "".join(f"a {'red' if n % 16 else 'cheap'} kettle no {n},{n}\n" for n in range(600))
    (tmp_path / "table.csv").write_text("text,price\n" + rows, encoding="utf-8")
    index = search.Index.build(tmp_path, index=str(tmp_path.with_suffix(".index")), model=str(tiny_model))
    (hit,) = (hit for hit in index.query("cheap dentist", mode="lexical", k=99) if hit.kind == "text")
    assert hit.lexical and hit.lexical > 0.25  # 0.237 if its length counted in full


def test_a_word_in_one_of_two_passages_counts(tmp_path: Path, tiny_model: Path) -> None:
    (tmp_path / "a.txt").write_text("The dentist called.", encoding="utf-8")
    (tmp_path / "b.txt").write_text("The tram was late.", encoding="utf-8")
    index = search.Index.build(tmp_path, index=str(tmp_path.with_suffix(".index")), model=str(tiny_model))
    (hit,) = index.query("dentist", mode="lexical")
    assert hit.document == "a.txt"
    assert hit.lexical and hit.lexical > 0.3
