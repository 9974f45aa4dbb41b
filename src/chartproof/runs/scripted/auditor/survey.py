"""A question that is not known: look at what there is, tell it, and defer.

Nothing here is about medicine. The words of the question are looked for in notes and policies, so
that a scenario that nobody has taught gets a report with citations to be judged.
"""

import re
from typing import TYPE_CHECKING

from auditor.draft import LACK, NO, YES, Conclusion, lines
from auditor.people import encounters, patient
from auditor.reading import Answer, Row

if TYPE_CHECKING:
    from auditor.habits import Careful

_PLAIN = re.compile(
    r"patient|admission|hospital|during|before|within|between|whether|should|question|answer|"
    r"definitions?|discharge|recorded?|documented|stated|according|following|these|there|their|"
    r"which|where|after|other|every|first|least|under|above|below|values?|hours?"
)
"""Words that questions have and that say nothing of their subject."""
_WORDS = 6
_TOLD = 4


def investigate(habit: "Careful") -> Conclusion:
    """Gather who, when, what is coded, what is written, what is ruled; settle nothing."""
    desk, draft = habit.desk, habit.draft
    asked = desk.question
    draft.title = "Survey of the record"
    draft.head("Patient and encounter")
    who = patient(desk)
    if who.row is not None:
        draft.say("The patient's row was read", who.row)
    stays, found = encounters(desk, "admission")
    mine = [stay.row for stay in found if stay.hadm_id == str(asked.hadm_id)]
    draft.say("The admission in question" if mine else "The admissions", mine or stays)
    draft.head("Codes")
    codes = desk.ask("diagnoses", hadm_id=asked.hadm_id)
    draft.say(f"{len(codes.rows)} diagnoses are coded; a code alone shows nothing", codes)
    words = subject_words(asked.text)
    hits = _notes(habit, words)
    draft.head("Policy")
    ruled = habit.consult((" ".join(words), "", "|".join(map(re.escape, words)) or "."))
    if ruled:
        draft.say("Lines of a document that bear on it", lines(ruled))
    return Conclusion(
        LACK,
        0.3,
        "This question is none that I know how to investigate",
        leaning=YES if hits else NO,
        doubts=("the question is unknown",),
    )


def _notes(habit: "Careful", words: list[str]) -> tuple[Row, ...]:
    habit.draft.head("Notes")
    answer: Answer = habit.desk.ask(
        "search_notes", words=" ".join(words) or "diagnosis", hadm_id=habit.desk.question.hadm_id
    )
    if answer.rows:
        habit.draft.say("Lines that name its subject", lines(list(answer.rows[:_TOLD])))
    else:
        habit.draft.say("No note names its subject", answer)
    return answer.rows


def subject_words(text: str) -> list[str]:
    """The first long words of a question that say what it is about, each once."""
    found = re.findall(r"[A-Za-z]{5,}", text)
    distinct = dict.fromkeys(word.lower() for word in found)
    return [word for word in distinct if not _PLAIN.fullmatch(word)][:_WORDS]
