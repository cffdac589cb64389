# groupflow: `make demo` shows it working, `make test` checks all of it. `make help` lists the rest.
.DEFAULT_GOAL := help
PYTHON := .venv/bin/python
GROUPFLOW := .venv/bin/groupflow

# Variables of `make demo`.
FILE ?=
MEMBERS ?= 5
LOSS ?= 0.01
MODE ?= e2e
POLICY ?= strict
SWITCH ?= gfswitch
RATE ?=
DELAY ?=
OUT ?= out/demo
demo_options = --members $(MEMBERS) --loss $(LOSS) --mode $(MODE) --policy $(POLICY) --switch $(SWITCH) --out $(OUT) \
	$(if $(FILE),--file "$(FILE)") $(if $(RATE),--rate $(RATE)) $(if $(DELAY),--delay $(DELAY))

# Variables of `make soak`.
SEEDS ?= 1 2
soaks = "tree" "bone --method scheduled" "bone --method unscheduled" "bone --method unicast"
DURATION ?= 60
# Variables of `make p4-tna`: folder of the results.
TNA ?= p4src/build/tna
arch_tofino := tna
arch_tofino2 := t2na
# The first seed of `make fuzz`, and its targets: crates' tests whose cases are drawn.
FUZZ_SEED ?= 1
fuzzed = "pipeline --test pipeline loading::mutated" "pipeline --test engines" "pipeline --test engines_groupflow" \
	"switch --test conformance robustness::damaged_requests" "switch --test conformance robustness::random" \
	"switch --test conformance robustness::sequences" "switch --test conformance robustness::damaged_p4infos" \
	"transport --test properties" "session --test properties" "split any_" "tree bytes_" "gather any_" "bone messages"

# Bytecode is kept, whatever the environment says: else each of the tests' many processes compiles all modules anew.
export PYTHONDONTWRITEBYTECODE :=

# Variables of the tests: pytest's markers, seconds of 2 cores above which `make check` fails, networks at one time.
MARKED ?= not rare
CHECK_BOUND ?=
NETWORKS ?= 3
RESULTS := out/tests
parts := $(PYTHON) scripts/parts.py --results $(RESULTS)
unit := $(PYTHON) -m pytest -q --dist worksteal --junitxml $(RESULTS)/unit.xml tests/unit
clippy := cd dataplane && cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
lint = types='.venv/bin/basedpyright --level error' \
	ruff='$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check .' \
	format='cd dataplane && cargo fmt --check' clippy='$(clippy)' \
	imports='.venv/bin/lint-imports' dependencies='.venv/bin/deptry --no-ansi .'

.PHONY: help setup wheel demo check test test-all test-rust test-unit test-network lint sanitize soak fuzz p4 p4-tna bench figures validate clean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup:  ## install what is missing, build everything into .venv/bin
	@scripts/setup.sh $(if $(filter test test-all test-network,$(MAKECMDGOALS)),--browser)

wheel: setup  ## one wheel of the package and its programs, in out/wheel: to be installed without this checkout
	rm -rf out/wheel
	.venv/bin/maturin build --release --quiet --interpreter $(PYTHON) --out out/wheel
	@ls -sh out/wheel/*.whl

demo: setup  ## one file to a whole group: FILE= MEMBERS=1..5 LOSS=0.01 MODE=e2e|n2n POLICY= SWITCH=gfswitch|bmv2 RATE= DELAY=
	@$(GROUPFLOW) demo $(demo_options)

# One process: each further one imports and collects all tests again, some 12 s of processor time.
check: setup  ## lint, types and the fast unit tests, side by side: under a minute
	@$(parts) -j2 $(if $(CHECK_BOUND),--bound $(CHECK_BOUND)) fast='$(unit) -n 0 -m "not slow and not rare"' $(lint)

# The first build of what clippy and pytest keep is no part of the time of `make check`.
built = built='($(clippy)) && $(PYTHON) -m pytest -q --collect-only tests/unit >/dev/null' \
	check='$(MAKE) -s check'

test: setup  ## check, and all other tests but the rare ones, each part timed (root for the network ones)
	@$(parts) $(built) rust='$(MAKE) -s test-rust' \
		unit='$(MAKE) -s test-unit MARKED="slow and not rare"' network='$(MAKE) -s test-network'

test-all: setup  ## all there is: also whole papers, the pipeline under valgrind, random faults
	@$(parts) $(built) rust='$(MAKE) -s test-rust' unit='$(MAKE) -s test-unit MARKED="slow or rare"' \
		network='$(MAKE) -s test-network MARKED=' sanitize='$(MAKE) -s sanitize' soak='$(MAKE) -s soak' \
		fuzz='$(MAKE) -s fuzz'

test-rust: setup  ## Rust unit, property and virtual-time tests
	cd dataplane && cargo test --release --config .cargo/tests.toml --locked --workspace --quiet

test-unit: setup  ## P4, protocol, controller tests in Python; no root
	$(unit) -n 2 -m '$(MARKED)'

test-network: setup  ## tests on virtual networks; root
	PYTHON=$(PYTHON) NETWORKS=$(NETWORKS) RESULTS=$(RESULTS) tests/network.sh '$(MARKED)'

lint: setup  ## ruff, pyright, rustfmt, clippy, rules of imports, undeclared dependencies
	@$(parts) -j2 $(lint)

# Cargo runs tests under what is named here. Few cases: valgrind is some fifty times slower.
sanitize: export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER := valgrind --quiet --error-exitcode=1
sanitize: export PROPTEST_CASES := 8
sanitize: setup  ## the pipeline's machine code under valgrind: every load and store of it (needs valgrind)
	@command -v valgrind >/dev/null || { echo "sanitize: valgrind is not on PATH: apt-get install valgrind" >&2; exit 1; }
	cd dataplane && cargo test --locked --quiet -p groupflow-pipeline --test engines --test engines_groupflow

# Each run of a target draws the cases of the next seed, so that the seed in the output repeats a failure.
fuzz: setup  ## random programs, packets, P4Runtime and agents' messages, a minute a target: DURATION=60 FUZZ_SEED=1
	@mkdir -p $(RESULTS) && cd dataplane && for target in $(fuzzed); do \
		seed=$(FUZZ_SEED); end=$$(($$(date +%s) + $(DURATION))); \
		while [ $$(date +%s) -lt $$end ]; do \
			PROPTEST_RNG_SEED=$$seed cargo test --release --config .cargo/tests.toml --locked --quiet \
				-p groupflow-$$target >../$(RESULTS)/fuzz.log 2>&1 || { cat ../$(RESULTS)/fuzz.log; \
				echo "fuzz: $$target fails with PROPTEST_RNG_SEED=$$seed" >&2; exit 1; }; \
			seed=$$((seed + 1)); \
		done; echo "fuzz: $$target: $$((seed - $(FUZZ_SEED))) seeds"; done

p4: setup  ## compile groupflow's P4 into p4src/build
	$(GROUPFLOW) -q p4 compile p4src/groupflow_v1model.p4 --out p4src/build
	cd p4src/build && mv groupflow_v1model.json groupflow.json && mv groupflow_v1model.p4info.txtpb groupflow.p4info.txtpb

# p4c ends with 0 even where it reports errors. The list of hashes shows a test that these files are of these sources.
p4-tna: $(addprefix p4-tna-,tofino tofino2)  ## place groupflow's P4 on both Tofinos: p4src/build/tna (needs p4c-barefoot)
	sha256sum p4src/groupflow_tna.p4 p4src/stages/*.p4 p4src/targets/tna/*.p4 >$(TNA)/sources.sha256

p4-tna-%: setup
	rm -rf out/tna/$* && mkdir -p out/tna/$* $(TNA)/$*
	p4c-barefoot --target $* --arch $(arch_$*) -D__TARGET_TOFINO__=$(if $(filter tofino2,$*),2,1) --std p4-16 -g \
		--create-graphs -o out/tna/$* --p4runtime-force-std-externs --p4runtime-files $(TNA)/$*/p4info.txtpb \
		--bf-rt-schema out/tna/$*/bf-rt.json p4src/groupflow_tna.p4 2>out/tna/$*/log
	@grep -q '^0 errors' out/tna/$*/log || { cat out/tna/$*/log >&2; exit 1; }
	@grep -q '^ *match:' out/tna/$*/pipe/groupflow_tna.bfa || \
		echo "p4-tna: this p4c loses what parser states match (p4lang/p4c#5753): load nothing of it into a chip" >&2
	$(PYTHON) -m json.tool --compact out/tna/$*/bf-rt.json $(TNA)/$*/bf-rt.json
	$(GROUPFLOW) fit out/tna/$* --svg $(TNA)/$*/fit.svg --json >$(TNA)/$*/fit.json
	$(GROUPFLOW) fit out/tna/$* >$(TNA)/$*/fit.txt

soak: setup  ## random faults on real processes of a tree and a cache bone, some ten minutes: SEEDS="1 2" DURATION=60
	@for seed in $(SEEDS); do for soak in $(soaks); do \
		$(PYTHON) -m tests.soak.$$soak --seed $$seed --seconds $(DURATION) || exit 1; \
	done; done

bench: setup  ## measure throughput, join times, rounds of tuning on this machine: PARTS="tree veth"
	$(GROUPFLOW) bench $(PARTS)

# Of each paper and experiment, what draws a picture in docs/img; a picture there is PAPER-NAME.png, or the experiment's name.
ONLY ?= amcb cmt icn2011 sakajiri takano diffusion split gather
drawn_amcb := table-1
drawn_cmt := table-2 figure-1 tree queue slow
drawn_icn2011 := figure-7 figure-12
drawn_sakajiri := figure-6
drawn_takano := figure-9 stability
drawn_gather := model-2
drawing = $(if $(filter diffusion split gather,$(1)),experiment,reproduce) $(1) $(addprefix --only ,$(drawn_$(1)))

figures: $(addprefix figures-,$(ONLY))  ## make the pictures of docs/img again; takano and what needs root take hours: ONLY="amcb"

figures-%: setup
	$(GROUPFLOW) $(call drawing,$*) --out out/figures/$*
	@for made in out/figures/$*/*.png; do \
		name=$$(basename $$made .png); name=$${name#study-}; name=$${name%-scenario-*}; \
		case $$name in bone-*|$*) ;; *) name=$*-$$name;; esac; \
		if [ -e docs/img/$$name.png ]; then cp $$made docs/img/$$name.png; fi; done

validate: setup  ## compare the simulator's TCP with ns-2 (installs it; some ten minutes)
	$(PYTHON) -m tests.validation.run

clean:  ## remove what was built
	rm -rf .venv out dataplane/target controller/groupflow/_native*.so
