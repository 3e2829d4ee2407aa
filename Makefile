# make install   set up the command in .venv
# make demo   set up, index corpora/household, ask two questions, explain a hit
# make test   set up with the test extras; linters, types, tests of the core, tests of the laboratory
# make notebooks   set up Jupyter, run the eight notebooks of corpora/notebooks, and compare what they print
# make lab    train small heads for the commands of seewhy lab, offline; less than ten minutes of processor time
# make conformance   the suite of the Model Context Protocol against the server; brings Node with npm
# make scripts   types and rules of the page's JavaScript; brings Node with npm
# make client   a TypeScript client from the OpenAPI document, compiled and run against a server; skipped without npm
# make site    the documentation as a website, in build/site
# make model-report MODEL=NAME DATA="SET ..."   hits, speed, verdict and explanations of a model, in build/NAME.md
# make size   how many modules and lines of code there are

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := --index indexes/household
# An old pip would run setup.py of a package without pyproject.toml, which fails with a new setuptools.
export PIP_USE_PEP517 := 1

.PHONY: install demo test notebooks lab conformance scripts client site wheel lint size clean model-report

install: $(VENV)/installed
	@echo
	@echo 'Index a folder:      $(BIN)/seewhy index FOLDER'
	@echo 'Ask it a question:   $(BIN)/seewhy query in your own words'

demo: $(VENV)/installed
	@echo
	@echo 'seewhy answers questions from a folder of text and shows why each passage was found.'
	@echo 'This folder has 40 files of an invented family: lease, mail, notes, manuals, recipes.'
	@echo
	@echo '$$ seewhy index corpora/household $(DEMO)'
# An index of an earlier demo may have an earlier format.
	@$(BIN)/seewhy index corpora/household $(DEMO) --offline || \
		$(BIN)/seewhy index corpora/household $(DEMO) --offline --rebuild
	@echo
	@echo '$$ seewhy query "when do we get the deposit back" -k 3 $(DEMO)'
	@$(BIN)/seewhy query "when do we get the deposit back" -k 3 $(DEMO) --offline -q
	@echo
	@echo '$$ seewhy query "does the landlord have to pay for the boiler" -k 3 $(DEMO)'
	@$(BIN)/seewhy query "does the landlord have to pay for the boiler" -k 3 $(DEMO) --offline -q
	@echo
	@echo 'Each hit begins with path:lines. Why did the first one get its score?'
	@echo
	@echo '$$ seewhy explain "does the landlord have to pay for the boiler" 1 $(DEMO)'
	@$(BIN)/seewhy explain "does the landlord have to pay for the boiler" 1 $(DEMO) --offline
	@echo
	@echo 'Ask more:                     $(BIN)/seewhy query $(DEMO) in your own words'
	@echo 'Index a folder of your own:   $(BIN)/seewhy index FOLDER'

test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --ignore=tests/lab
	$(BIN)/pytest tests/lab

notebooks: $(VENV)/installed-notebooks
	$(BIN)/python tests/notebooks.py

lab: $(VENV)/installed-notebooks
	$(BIN)/python corpora/lab/train.py

conformance: $(VENV)/installed-dev
	bash .ci/conformance

scripts:
	npm install --prefix .ci/scripts --silent --no-fund --no-audit --no-package-lock
	.ci/scripts/node_modules/.bin/tsc --project .ci/scripts
	.ci/scripts/node_modules/.bin/eslint --config .ci/scripts/eslint.config.mjs search/render/page/*.js search/lab/render/*.js

client: $(VENV)/installed
	bash .ci/client/check

site: $(VENV)/installed
	$(BIN)/pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[site]'
	$(BIN)/python .ci/site.py build/pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Build a wheel, and test it in clean environments; PYTHONS names the interpreters.
wheel:
	PYTHONS="$(PYTHONS)" bash .ci/wheel

lint: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

model-report: $(VENV)/installed
	@test -n '$(MODEL)' -a -n '$(DATA)' || \
		{ echo 'Give a model and judged sets: make model-report MODEL=NAME DATA="cranfield cacm"'; exit 2; }
	@mkdir -p build
	$(BIN)/python benchmarks/model_report.py $(DATA) --model '$(MODEL)' --page 'build/$(notdir $(MODEL)).md'

size:
	@$(PYTHON) tests/size.py

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo 'Installing; this takes a minute or two ...'
	$(BIN)/pip install -qq --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[offline,documents,tui,server]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[offline,documents,ocr,pictures,notebooks,training,tui,server,mcp,milvus,ray,langchain,llama-index,haystack,dev]'
	@touch $@

$(VENV)/installed-notebooks: $(VENV)/installed
	$(BIN)/pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[pictures,notebooks,training]'
	@touch $@

clean:
	rm -rf $(VENV) indexes/household
