"""Not yet."""

from typing import TYPE_CHECKING

from auditor.draft import LACK, Conclusion

if TYPE_CHECKING:
    from auditor.habits import Careful


def investigate(habit: "Careful") -> Conclusion:
    """Not yet."""
    return Conclusion(LACK, 0.3, "Not yet")
