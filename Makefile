# Every target does the set-up that it needs; each works twice, and offline
# after the first time. The steps are in scripts/.

.DEFAULT_GOAL := help
.PHONY: help run test check desktop-test screens fuzz compatibility audit demo bench chaos agent-faults agents build dist dist-test dist-sign ui codegen fmt setup clean

help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## open the console with example agents (without a display: in the terminal)
	@scripts/run.sh

test: ## everything: format, lints, docs, tests of all languages, the real window
	@scripts/test.sh

check: ## the part of test that needs no window: format, lints, docs, tests of Rust, Python and TypeScript
	@scripts/test.sh headless

desktop-test: ## only the tests in the real window
	@scripts/desktop-tests.sh

screens: ## make the pictures of docs/screens anew: make screens [STORIES="inbox rules"]
	@scripts/desktop-tests.sh screens $(STORIES)

fuzz: ## look for inputs that break a reader: make fuzz [COUNT=20000] [TARGETS="request digest"]
	@scripts/fuzz.sh

compatibility: ## run the tests of the SDKs and write docs/compatibility.md from their results
	@scripts/compatibility.sh

audit: ## licences, bans and sources of the Rust dependencies, licences of npm's, texts for the .deb
	@scripts/audit.sh

demo: ## the whole round once, without a person (builds the console without its window)
	@scripts/demo.sh

bench: ui ## the figures, with the floor programs beside them
	@scripts/setup.sh core python typescript window desktop
	@npm --prefix sdk/typescript run --silent build
	@scripts/with-tools.sh cargo xtask bench
	@scripts/with-tools.sh .venv/bin/python scripts/bench_adapters.py

chaos: ## kill, pause, cut off and fill up everything in random order for 30 minutes, then check
	@scripts/setup.sh core
	@scripts/with-tools.sh cargo xtask chaos --seconds 1800
	@OPERATOR_CHANGES=1000 scripts/with-tools.sh cargo test --quiet -p countersign-testkit --test app realm_race -- --nocapture
	@GATEWAY_KILLS=1000 scripts/with-tools.sh cargo test --quiet -p countersign-gateway --test gateway kills -- --nocapture
	@scripts/setup.sh typescript
	@cd sdk/typescript && npm run --silent build && COUNTERSIGN_KILLS=1000 npm run --silent test -- test/kills.test.ts

agent-faults: ## break everything between Claude Code and the desk, and see that it runs nothing
	@scripts/setup.sh core python
	@scripts/with-tools.sh cargo build --quiet -p countersign
	@COUNTERSIGN_ALL_FAULTS=1 .venv/bin/python -m pytest -c sdk/python/pyproject.toml --rootdir tests/agents tests/agents/test_claude_faults.py

agents: ## Codex, Gemini CLI, Copilot CLI and OpenCode from npm in front of a console, with played models
	@scripts/agents.sh

build: ## the release program with its window, and the .deb
	@scripts/dist.sh deb

dist: ## the packages of a release: make dist [PARTS="tarball wheel"] (docs/install.md)
	@scripts/dist.sh $(PARTS)

dist-test: ## try the packages in dist/ in fresh Debian systems: make dist-test [PARTS="tarball wheel"]
	@scripts/dist-test.sh $(PARTS)

dist-sign: ## sign dist/ with the keys that are given: MINISIGN_KEY=FILE GPG_KEY=ID make dist-sign
	@DIST="$(DIST)" MINISIGN_KEY="$(MINISIGN_KEY)" GPG_KEY="$(GPG_KEY)" scripts/dist-sign.sh

ui: ## build the page into ui/dist
	@scripts/setup.sh ui
	@npm --prefix ui run --silent build

codegen: ## write the generated files again
	@scripts/setup.sh core
	@scripts/with-tools.sh cargo xtask codegen

fmt: ## format Rust, Python, TypeScript and the page
	@scripts/setup.sh python typescript ui
	@npm --prefix sdk/typescript run --silent format
	@scripts/with-tools.sh cargo fmt --all
	@.venv/bin/python -m ruff format --quiet --config sdk/python/pyproject.toml docs examples packaging scripts sdk/python tests
	@npm --prefix ui run --silent format

setup: ## install what is missing and do nothing else
	@scripts/setup.sh core ui python typescript window desktop

clean: ## remove what was built; what set-up installed stays
	@rm -rf dist ui/dist sdk/typescript/dist gen permissions
	@scripts/with-tools.sh cargo clean --quiet
