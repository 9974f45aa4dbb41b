"""A scripted system: `python -I -S agent.py NAME`. Standard library only; JSON lines in and out."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

if __name__ == "__main__":
    if sys.argv[1].startswith("board-"):
        from board.main import main
    else:
        from auditor.main import main
    main(sys.argv[1])
