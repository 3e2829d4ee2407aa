# make install   set up the command in .venv
# make demo   set up, index the handbook, ask it two questions, explain a hit
# make test   set up with the test extras; linters, types, tests
# make conformance   the suite of the Model Context Protocol against the server; brings Node with npm
# make size   how many modules and lines of code there are

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := --index indexes/handbook

.PHONY: install demo test conformance wheel lint size clean

install: $(VENV)/installed
	@echo
	@echo 'Index a folder of yours:  $(BIN)/seewhy index FOLDER'
	@echo 'Then ask it:              $(BIN)/seewhy query in your own words'

demo: $(VENV)/installed
	@echo
	@echo 'seewhy finds passages in a folder of text by what they mean, and shows why each was found:'
	@echo 'every score is a sum, and you see its addends. Here it reads its own handbook, which is about'
	@echo 'BERT and semantic search, and answers two questions from it.'
	@echo
	@echo '$$ seewhy index corpora/handbook $(DEMO)'
	@$(BIN)/seewhy index corpora/handbook $(DEMO) --offline
	@echo
	@echo '$$ seewhy query "why is the raw CLS vector a poor sentence embedding" -k 3 $(DEMO)'
	@$(BIN)/seewhy query "why is the raw CLS vector a poor sentence embedding" -k 3 $(DEMO) --offline -q
	@echo
	@echo '$$ seewhy query "how does the search find the same thing said in other words" -k 3 $(DEMO)'
	@$(BIN)/seewhy query "how does the search find the same thing said in other words" -k 3 $(DEMO) --offline -q
	@echo
	@echo 'Each hit is path:line. Why did the first answer get that score?'
	@echo
	@echo '$$ seewhy explain "why is the raw CLS vector a poor sentence embedding" 1 $(DEMO)'
	@$(BIN)/seewhy explain "why is the raw CLS vector a poor sentence embedding" 1 $(DEMO) --offline
	@echo
	@echo 'Ask it more:                    $(BIN)/seewhy query $(DEMO) in your own words'
	@echo 'Now index a folder of your own: $(BIN)/seewhy index FOLDER'

test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

conformance: $(VENV)/installed-dev
	bash .ci/conformance

# A wheel, put into empty environments and used there; PYTHONS names the interpreters.
wheel:
	PYTHONS="$(PYTHONS)" bash .ci/wheel

lint: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

size:
	@$(PYTHON) tests/size.py

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo 'Installing, which takes a minute or two ...'
	$(BIN)/pip install -qq --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[offline,documents,tui,server]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[offline,documents,pictures,notebooks,training,entities,tui,server,mcp,milvus,ray,langchain,llama-index,haystack,mteb,dev]'
	@touch $@

clean:
	rm -rf $(VENV) indexes/handbook
