"""Grades: by rule first, by a judge where no rule reaches."""
