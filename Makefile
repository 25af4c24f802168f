# make demo   set up, then generate, run, score, compare and report; no key, no GPU
# make test   set up, then the test suite (under 13 minutes on two cores)
# make long   set up, then what takes longer: kills, fuzzing, attacks (under 45 minutes)
# make golden set up, then run the golden cases and show what differs (GOLDEN=NAME for some)
# make bench  set up, then the benchmarks (minutes; prints ratios)

.PHONY: demo test long golden bench clean
PY := .venv/bin/python
# the tests start many processes: what is compiled once is kept
unexport PYTHONDONTWRITEBYTECODE

demo: .venv/ready-base
	.venv/bin/toolmark demo

test: .venv/ready-dev
	$(PY) -m pytest --numprocesses auto --dist worksteal

long: .venv/ready-dev
	$(PY) -m pytest --numprocesses auto --dist worksteal -m long

golden: .venv/ready-dev
	$(PY) -m tests.golden $(GOLDEN)

bench: .venv/ready-bench
	$(PY) -m benchmarks

.venv/ready-%: pyproject.toml setup.sh
	sh setup.sh $*
	touch $@

clean:
	rm -rf .venv
