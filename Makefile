# make demo   set up, then generate, run, score, compare and report; no key, no GPU
# make test   set up, then the whole test suite
# make bench  set up, then the benchmarks (minutes; prints ratios)

.PHONY: demo test bench clean
PY := .venv/bin/python

demo: .venv/ready-base
	.venv/bin/toolmark demo

test: .venv/ready-dev
	$(PY) -m pytest --numprocesses auto --dist worksteal

bench: .venv/ready-bench
	$(PY) -m benchmarks

.venv/ready-%: pyproject.toml setup.sh
	sh setup.sh $*
	touch $@

clean:
	rm -rf .venv
