select *, epoch(outtime - intime) / 86400 as los from meds_stay
