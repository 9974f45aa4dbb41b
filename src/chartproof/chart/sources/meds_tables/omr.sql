select subject_id, time::date as chartdate, kind as result_name, txt as result_value
from meds_event join omr_names on result_name = kind
