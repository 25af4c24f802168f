# make demo   set up, then generate, run, score, compare and report; no key, no GPU
# make quick  set up, then core, goldens of funcbench and bfcl, a small run of every suite (a minute)
# make check  set up, then lint, format, types, workflows and the rules of the house, without running a test
# make test   set up, then the test suite (under 13 minutes on two cores)
# make long   set up, then what takes longer: kills, fuzzing, attacks (under 45 minutes)
# make golden set up, then run the golden cases and show what differs (GOLDEN=NAME for some)
# make docs   set up, then the documentation site in docs/_build/html; a warning is an error
# make constraints  write the installed versions, with which the tests passed, to constraints.txt
# make bench  set up, then the benchmarks (minutes; prints ratios)

.PHONY: demo quick check test long golden docs constraints bench clean
PY := .venv/bin/python
# one worker more than there are cores: many tests wait for processes that they started
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# the tests start many processes: compiled modules are stored, and read by the next one
unexport PYTHONDONTWRITEBYTECODE

demo: .venv/ready-base
	.venv/bin/toolmark demo

QUICK := tests/test_smoke.py tests/test_new_suite.py tests/core/test_brackets.py \
  tests/core/test_json_codec.py tests/core/test_files.py tests/core/test_media.py \
  tests/core/test_seeds.py tests/core/test_svg.py tests/formats tests/scoring tests/statistics \
  tests/agents tests/runs/test_task_selection.py tests/runs/test_runner.py \
  tests/runs/test_run_store.py tests/suites/test_suite_registry.py

quick: .venv/ready-dev
	$(PY) -m pytest --numprocesses auto --dist worksteal $(QUICK) \
	  "tests/golden/test_golden.py::test_nothing_differs_that_is_not_accepted[suite_bfcl_single]" \
	  "tests/golden/test_golden.py::test_nothing_differs_that_is_not_accepted[suite_funcbench]"

check: .venv/ready-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) scripts/check_rules.py
	node scripts/lint_workflows.mjs .github/workflows/*.yml
	$(PY) -m mypy

test: .venv/ready-dev
	$(PY) -m pytest --numprocesses $(WORKERS) --dist worksteal

long: .venv/ready-dev
	$(PY) -m pytest --numprocesses $(WORKERS) --dist worksteal -m long

golden: .venv/ready-dev
	$(PY) -m tests.golden $(GOLDEN)

docs: .venv/ready-docs
	$(PY) -m sphinx --builder html --fail-on-warning --quiet \
	  --doctree-dir docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

constraints: .venv/ready-dev .venv/ready-docs
	$(PY) scripts/freeze_constraints.py > constraints.new && mv constraints.new constraints.txt

bench: .venv/ready-bench
	$(PY) -m benchmarks

.venv/ready-%: pyproject.toml setup.sh constraints.txt
	sh setup.sh $*
	touch $@

clean:
	rm -rf .venv docs/_build
