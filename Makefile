# Thin: every target is one command of `python -m autograder`, in a virtual environment made on first use.
VENV := .venv
PYTHON3 ?= python3
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: course test test-fast paste-test experiments book exercises grade feedback audit serve release lab check lock clean setup

course: $(READY)      ## everything: exercises, a graded sample class, feedback, the book
	@$(PYTHON) -m autograder course

test: $(READY)        ## all tests
	@$(PYTHON) -m pytest -n auto --dist loadgroup --no-loadscope-reorder

test-fast: $(READY)   ## the quick tests, about a minute
	@$(PYTHON) -m pytest -n auto --dist loadgroup --no-loadscope-reorder -m quick

paste-test: $(READY)  ## the visible code of the book's pages runs without the hidden one
	@$(PYTHON) -m autograder paste-test

experiments: $(READY) ## book/results/, the stored results of experiments
	@$(PYTHON) -m autograder experiments

book: $(READY)        ## the book, in _build/html
	@$(PYTHON) -m autograder book

exercises: $(READY)   ## exercises/ from solutions/
	@$(PYTHON) -m autograder build

grade: $(READY)       ## grade course/submitted/, write feedback and summary
	@$(PYTHON) -m autograder grade --feedback

audit: $(READY)       ## the grader's own exam
	@$(PYTHON) -m autograder audit

serve: $(READY)       ## the built book on 127.0.0.1:8000
	@$(PYTHON) -m autograder serve

release: $(READY)     ## the built book and the exercises as one zip, in _build/; another for instructors
	@$(PYTHON) -m autograder release

lab: $(READY)         ## your own copies of the exercises in work/, in JupyterLab
	@$(PYTHON) -m autograder lab

check: $(READY)       ## format, lint, spelling and types
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff check --isolated --select E501,PLR0913 --line-length 120 --config 'lint.pylint.max-args = 6' autograder
	@$(VENV)/bin/codespell
	@$(VENV)/bin/mypy
	@$(VENV)/bin/mypy $(patsubst book/models/%.py,-m book.models.%,$(wildcard book/models/[a-z]*.py))

lock: $(READY)        ## write constraints.txt from what is installed
	@echo "# Every package with its version; \`make lock\` writes this file." > constraints.txt
	@$(PYTHON) -m pip list --format freeze --exclude pip | sed 's/+cpu$$//' >> constraints.txt

clean:                ## what builds and runs have made; never work/, never course/submitted/
	rm -rf _build course/source
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

setup: $(READY)

$(READY): requirements.txt constraints.txt
	@echo "Setting up $(VENV): some minutes, once."
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed."; exit 1; }
	@test -x $(PYTHON) || $(PYTHON3) -m venv $(VENV)
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --requirement requirements.txt --constraint constraints.txt
	@touch $(READY)
