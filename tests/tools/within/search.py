"""Runs in the jail: prints which of the given words lie in any file that can be read there."""

import json
import os

words = [word.encode() for word in json.loads(open("/data/words.json").read())]
hits, searched = {}, 0
for folder, _, names in os.walk("/"):
    for name in names:
        path = os.path.join(folder, name)
        if path in ("/data/words.json", "/code.py") or path.startswith("/dev/"):
            continue
        with open(path, "rb") as file:
            content = file.read()
        searched += 1
        for word in words:
            if word in content or word in path.encode():
                hits.setdefault(word.decode(), path)
print(json.dumps([searched, hits]))
