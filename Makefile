# make run     set up .venv and run the jet        make test    set up .venv and run its tests
# Options: PYTHON=python3.12, MPI=system (the MPI on PATH instead of MPICH from the package index), VENV=folder

VENV ?= .venv
MPI ?= embedded
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

RUN = outputs/jet
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
MODEL = $(VENV)/.model-$(MPI)
READY = $(VENV)/.ready-$(MPI)
# Tests by their marks (pyproject.toml): `$(TESTS) -m MARKS`. A worker without tests takes tests of other workers.
TESTS = $(BIN)/python -m pytest -n auto --dist worksteal
# Open MPI's mpiexec kills all ranks a second after it receives a signal or a rank ends, and wakes and ends frozen ranks.
# Tests of what ranks would do after that are marked mpich_only.
OPEN_MPI = layouts runs faults launch slurm stop

.DEFAULT_GOAL = help
.PHONY: help run check test test-all release-check check-release docs pictures exactness twins fuzz soak damage slurm openmpi exchange sanitize lint format setup clean distclean

help:
	@echo "make run        set up, run the jet for ten days, plot it; results in $(RUN)"
	@echo "make check      run the quick tests, which need neither a compiler nor MPI (a minute)"
	@echo "make test       set up and run the tests of every promise of docs/trust.md (7 to 8 minutes)"
	@echo "make test-all   run other tests: faults, kills and resumes, random input, analytic solutions, pages (half an hour)"
	@echo "make release-check  run checks that take hours: wheels, conda, Slurm, Open MPI, soak, damage, sanitizers, notebooks"
	@echo "make docs       build the site of the documentation, docs/_build/index.html"
	@echo "make pictures   run every case and notebook, and save their pictures (half an hour)"
	@echo "make exactness  print how exact derivatives are on one to four processes: docs/gradients.md (two minutes)"
	@echo "make twins      run each twin experiment twice, and check the errors of the analysis (half an hour)"
	@echo "make fuzz       try thousands of random configurations and command lines"
	@echo "make soak       kill and resume a run a hundred times; it must have the bits of an undisturbed run (a quarter of an hour)"
	@echo "           make soak SOAK_ARGS=\"--format zarr\": the same with Zarr stores (half an hour)"
	@echo "make damage     damage the files of a run in five hundred ways; commands must detect it, and not hang (half an hour)"
	@echo "make slurm      run the batch scripts in a temporary Slurm of one node: limits, requeues, crashes (five minutes)"
	@echo "make openmpi    set up .venv-openmpi with the Open MPI on PATH, and run tests of several processes with it"
	@echo "make exchange   run the tests of several processes with the model's foreign calls instead of mpi4jax"
	@echo "make sanitize   test the native step with a build that stops at accesses beyond arrays and undefined behaviour"
	@echo "make setup      create $(VENV) and install everything into it"
	@echo "make lint       check style, types and docs/trust.md;   make format   apply the style"
	@echo "make clean      remove caches; make distclean   remove $(VENV) too"
	@echo "Options: PYTHON=python3.12   MPI=system (the MPI on PATH; default: MPICH from the package index)   VENV=folder"

run: $(MODEL)
	$(BIN)/swmodel run jet --output $(RUN) --force
	$(BIN)/swmodel plot $(RUN)

check: $(READY)
	$(TESTS) -m "not (slow or mpi or night or release)" $(PYTEST_ARGS)

test: $(READY)
	$(TESTS) -m "not (night or release)" $(PYTEST_ARGS)

test-all: $(READY)
	$(TESTS) -m night $(PYTEST_ARGS)

# Checks that take hours, one after the other. A failure does not stop the others; the last line names all failures.
release-check: $(READY)
	@failed=; for name in release fuzz twins soak soak-zarr damage slurm openmpi exchange sanitize oldest newest; do \
	    echo "== $$name"; $(MAKE) check-$$name PYTEST_ARGS="--no-skips $(PYTEST_ARGS)" || failed="$$failed $$name"; \
	done; test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

check-release: $(READY)
	$(TESTS) -m release $(PYTEST_ARGS)

check-soak-zarr:
	$(MAKE) soak SOAK_ARGS="--format zarr"

# The oldest and the newest versions of the dependencies that pyproject.toml allows, with the checks that take a minute.
check-oldest check-newest: check-%:
	tools/install-versions $* .venv-$* $(PYTHON)
	.venv-$*/bin/python -m pytest -n auto --dist worksteal -m "not (mpi or night or release)" $(PYTEST_ARGS)

check-%:
	$(MAKE) $*

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build
	@echo "docs/_build/index.html"

pictures: $(READY)
	$(BIN)/python tools/pictures.py --write
	$(BIN)/python tools/notebooks.py --write

exactness: $(READY)
	$(BIN)/python tools/exactness.py

fuzz: $(READY)
	SWMODEL_FUZZ=20 $(BIN)/python -m pytest tests/cli/test_fuzz.py $(PYTEST_ARGS)

twins: $(READY)
	$(BIN)/python tools/twins.py

soak: $(READY)
	$(BIN)/python tools/soak.py $(SOAK_ARGS)

damage: $(READY)
	$(BIN)/python tools/damage.py $(DAMAGE_ARGS)

slurm: $(READY)
	SWMODEL_SLURM=1 $(BIN)/python -m pytest -v tests/slurm $(PYTEST_ARGS)

openmpi:
	@mpicc --showme:version 2>/dev/null | grep -q "Open MPI" || { echo "the mpicc on PATH is not that of Open MPI: load its module, or install openmpi-bin and libopenmpi-dev (names of Debian)" >&2; exit 1; }
	$(MAKE) setup VENV=.venv-openmpi MPI=system
	.venv-openmpi/bin/python -m pytest -v $(OPEN_MPI:%=tests/mpi/test_%.py) -m "not mpich_only" $(PYTEST_ARGS)

exchange: $(READY)
	PYTHONPATH=tests/support/without_mpi4jax $(TESTS) tests/mpi -m "not needs_mpi4jax" $(PYTEST_ARGS)

sanitize: $(READY)
	tools/test-sanitized $(BIN)/python $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/trust.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: $(READY)
	@echo "Ready: . $(BIN)/activate"

$(READY): $(MODEL)
	$(PIP) "swmodel[test]"
	@touch $@

$(MODEL): pyproject.toml CMakeLists.txt tools/install-mpi tools/build-native Makefile $(wildcard swmodel/*/*/*.cc swmodel/executors/*/*.h)
	@test -n "$(PYTHON)" || { echo "swmodel needs Python 3.11 or newer, which is missing: install it, or set PYTHON=/path/to/python3" >&2; exit 1; }
	@echo 'int i;' | $${CC:-cc} -x c++ -fsyntax-only - 2>/dev/null || { echo "swmodel needs a C and C++ compiler, which is missing: install gcc and g++ or clang, or set CC" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Python's venv is missing: install python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV) (some minutes the first time)"
	$(PIP) "scikit-build-core>=0.10"
	$(PIP) --no-build-isolation --no-deps --editable .
	$(PIP) swmodel
	tools/build-native $(BIN)/python
	tools/install-mpi $(BIN)/python $(MPI)
	@rm -f $(VENV)/.model-* $(VENV)/.ready-* && touch $@

clean:
	rm -rf build dist docs/_build docs/jupyter_execute .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find swmodel tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV) .venv-openmpi .venv-oldest .venv-newest
