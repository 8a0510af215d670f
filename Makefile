# The front door: each target is a thin call and installs what it needs. `make` alone lists them.
#
#   PLATFORM_OPERATOR_CACHE  what is made once on a machine and kept (default ~/.cache/platform-operator)
#   PLATFORM_OPERATOR_CLUSTER  the folder of the local cluster, to have one of your own (default: in the cache)
#   TEST_REPORTS             a folder: each test run also writes its results there, as JSON
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

# A comma would end an argument.
crowds := 100,1000,5000
report = $(if $(TEST_REPORTS),--reporter=default --reporter=json --outputFile.json=$(TEST_REPORTS)/$(1).json)

# What may be ended by Ctrl-C: the shell waits for it, and then make ends by the signal without calling it an error.
interruptible = trap : INT; $(1) || tools/interrupted $$? $$PPID

.PHONY: help install prepare check test real fuzz bench bench-host bench-world bench-traces simulate mutants e2e e2e-full cluster cluster-down run kubectl-pi image plugin chart release format recordings generate clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{ printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: ## Node 24 and the dependencies, from package-lock.json
	@$(call interruptible,tools/install-node)

prepare: install ## everything that is made once: programs (half an hour), base image
	@tools/prepare

check: install ## types with Effect diagnostics, lint, format, generated files
	@npm run --silent check

test: install ## unit and property tests, and single services against programs that are cheap to have; PART=simulation, PART=others: a part
	@$(call interruptible,PART='$(PART)' vitest run --project unit $(call report,$(or $(PART),unit)))

real: install ## tests with the real engine, Helm and API server, without a cluster; builds those programs
	@$(call interruptible,vitest run --project real $(call report,real))

fuzz: install ## a million inputs that nobody should send, for every decoder at a border; CASES=, SEED= (minutes)
	@$(call interruptible,CASES=$(or $(CASES),1000000) SEED=$(or $(SEED),1) vitest run --project unit test/fuzz)

bench: install ## what an install and a repair cost beside the bare engine: a table, and .bench/results.json
	@$(call interruptible,node test/bench/install.ts)

bench-host: install ## the operator beside a peer on controller-runtime, on a real API server; ONLY=, ROUNDS=, CROWDS= (an hour)
	@$(call interruptible,BENCH_ONLY='$(ONLY)' BENCH_ROUNDS='$(or $(ROUNDS),3)' BENCH_CROWDS='$(or $(CROWDS),$(crowds))' node test/bench/host.ts)

bench-world: install ## what the simulated world costs: its scenarios, and a month of three instances
	@$(call interruptible,node test/bench/world.ts)

bench-traces: install ## what traces cost the simulated world: its throughput with them beside that without
	@$(call interruptible,node test/bench/traces.ts)

simulate: install ## the whole simulation twice with each seed, 1 to 5 or SEED, PLANS=400 pairs of deaths a run, FULL=1 for all; long
	@$(call interruptible,SEED='$(SEED)' PLANS='$(or $(PLANS),400)' FULL='$(FULL)' ONLY='$(ONLY)' node test/simulation/run.ts)

mutants: install ## faults put into the sources, for the tests to catch: those made by hand, and SAMPLE=100 of SEED=1 of the generated
	@$(call interruptible,SAMPLE='$(SAMPLE)' SEED='$(SEED)' ONLY='$(ONLY)' JOBS='$(JOBS)' node test/mutants/run.ts)

e2e: install ## end-to-end tests on the real cluster; needs root
	@$(call interruptible,vitest run --project e2e $(call report,e2e))

e2e-full: install ## the same with the greater counts
	@$(call interruptible,E2E_FULL=1 vitest run --project e2e $(call report,e2e))

cluster: install ## starts the local cluster and prints its kubeconfig; needs root
	@tools/cluster/up

cluster-down: ## ends the local cluster; needs root
	@tools/cluster/down

plugin: install ## the Headlamp plugin: its archive, sha256 and Artifact Hub description
	@tools/plugin

chart: install ## packages the chart as it is published, with Headlamp's where that can be had
	@tools/chart

release: install ## all that is published of VERSION, in dist/release; WAIVE names what it may go without; needs root
	@tools/release "$(VERSION)"

run: ## the operator in a simulated cluster for kubectl, with SPEED=60 an hour a minute; CLUSTER=local: in a real one, needs root
ifeq ($(CLUSTER),local)
ifneq ($(PORT)$(SPEED),)
	@echo "make run: PORT and SPEED are for the simulated cluster alone; leave them away with CLUSTER=local" >&2; exit 1
endif
	@$(call interruptible,$(MAKE) install)
	@$(call interruptible,tools/run)
else ifeq ($(CLUSTER),)
	@$(call interruptible,tools/playground/run $(if $(PORT),--port '$(PORT)') $(if $(SPEED),--speed '$(SPEED)'))
else
	@echo "make run: CLUSTER=$(CLUSTER) is not known. Without it the cluster is simulated; CLUSTER=local is a real one on this machine" >&2; exit 1
endif

kubectl-pi: install ## the kubectl plugin: dist/kubectl-pi
	@node tools/bundle.ts dist kubectl-pi > /dev/null && mv dist/kubectl-pi.mjs dist/kubectl-pi && echo dist/kubectl-pi

image: install ## builds the operator's image
	@tools/image

format: install ## formats the sources and mends what lint can mend
	@npm run --silent format

recordings: install ## records the terminals that the pages show, by a run of the playground with the kubectl of this machine
	@node tools/docs/record.ts && node tools/generate.ts

generate: install ## writes the files that are generated from the schema
	@npm run --silent generate

clean: ## ends every local cluster, the tests' too, and removes their folders, and what was installed and built here, .cache/npm too; ~/.cache/platform-operator stays
	@tools/all-clusters down --purge
	@rm -rf node_modules dist .cache .npm-install.lock headlamp-plugin/{node_modules,dist,host/dist,.npm-install.lock}
