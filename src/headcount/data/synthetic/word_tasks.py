"""Words and their labels for tasks by examples: opposites, plurals, past tenses and capitals."""

from __future__ import annotations

from collections.abc import Iterator


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(", "):
        word, label = pair.split()
        yield word, label


WORD_TASKS = {
    "opposites": tuple(
        _pairs(
            "big small, hot cold, long short, old young, good bad, fast slow, light dark, high low, rich poor, "
            "happy sad, hard soft, wet dry, full empty, early late, strong weak, thick thin, true false, up down, "
            "left right, first last, day night, north south, east west, love hate, war peace, black white, win lose, "
            "buy sell, give take, push pull, start stop, begin end, above below, before after, inside outside, "
            "always never, more less, friend enemy, life death, front back, top bottom, near far, deep shallow, "
            "clean dirty, safe dangerous, loud quiet, cheap expensive, easy difficult, wide narrow, smooth rough, "
            "success failure, remember forget, question answer, sunrise sunset, brave afraid, ancient modern, "
            "public private, positive negative, arrive leave, alive dead"
        )
    ),
    "plural": tuple(
        _pairs(
            "cat cats, dog dogs, car cars, book books, house houses, tree trees, bird birds, hand hands, door doors, "
            "game games, song songs, road roads, room rooms, ship ships, star stars, word words, year years, "
            "week weeks, month months, river rivers, letter letters, number numbers, picture pictures, "
            "window windows, table tables, city cities, country countries, story stories, family families, "
            "party parties, baby babies, box boxes, church churches, class classes, child children, man men, "
            "woman women, foot feet, tooth teeth, mouse mice, goose geese, person people, leaf leaves, wolf wolves, "
            "knife knives, life lives, wife wives, half halves, king kings, doctor doctors, student students, "
            "teacher teachers, animal animals, flower flowers, idea ideas, problem problems, island islands, "
            "mountain mountains"
        )
    ),
    "past-tense": tuple(
        _pairs(
            "go went, see saw, make made, take took, come came, know knew, give gave, find found, think thought, "
            "tell told, become became, leave left, feel felt, bring brought, begin began, keep kept, hold held, "
            "write wrote, stand stood, hear heard, mean meant, meet met, run ran, pay paid, sit sat, speak spoke, "
            "lead led, grow grew, lose lost, fall fell, send sent, build built, understand understood, draw drew, "
            "break broke, spend spent, rise rose, drive drove, buy bought, wear wore, choose chose, eat ate, "
            "fly flew, sing sang, teach taught, win won, catch caught, sleep slept, throw threw, drink drank, "
            "walk walked, talk talked, play played, open opened, work worked, call called, ask asked, want wanted, "
            "look looked, use used, live lived, love loved, move moved, turn turned, need needed"
        )
    ),
    "capital": tuple(
        _pairs(
            "France Paris, England London, Italy Rome, Spain Madrid, Germany Berlin, Austria Vienna, Greece Athens, "
            "Ireland Dublin, Norway Oslo, Poland Warsaw, Portugal Lisbon, Hungary Budapest, Egypt Cairo, "
            "Russia Moscow, Japan Tokyo, China Beijing, Iraq Baghdad, Iran Tehran, Cuba Havana, Peru Lima, "
            "Canada Ottawa, Indonesia Jakarta, Thailand Bangkok, Vietnam Hanoi, Korea Seoul, Philippines Manila, "
            "Kenya Nairobi, Syria Damascus, Afghanistan Kabul, Sweden Stockholm, Finland Helsinki, "
            "Denmark Copenhagen, Belgium Brussels, Netherlands Amsterdam, Switzerland Bern, Turkey Ankara, "
            "Australia Canberra, Chile Santiago, Venezuela Caracas, Ecuador Quito, Uruguay Montevideo, "
            "Libya Tripoli, Ghana Accra, Senegal Dakar, Zimbabwe Harare, Angola Luanda, Lebanon Beirut, "
            "Jordan Amman, Nepal Kathmandu, Bangladesh Dhaka, Pakistan Islamabad, Bulgaria Sofia, Romania Bucharest, "
            "Serbia Belgrade, Croatia Zagreb, Ukraine Kyiv, Latvia Riga, Scotland Edinburgh, Wales Cardiff, "
            "Colombia Bogota"
        )
    ),
}
"""By task, each word once, as a word or as a label."""
