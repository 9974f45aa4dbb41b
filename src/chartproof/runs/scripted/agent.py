"""A scripted system: `python -I -S agent.py NAME`. Standard library only; JSON lines in and out."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from auditor.main import main

if __name__ == "__main__":
    main(sys.argv[1])
