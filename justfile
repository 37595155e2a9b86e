# The one entry to everything a developer does; `just` lists it.

uv := "uv run --locked"

_default:
    @just --list

# Format the code.
format:
    {{uv}} ruff format
    {{uv}} ruff check --fix

# What must pass before a commit.
check: lint types test

lint:
    {{uv}} ruff format --check
    {{uv}} ruff check

types:
    {{uv}} mypy
    {{uv}} mypy --platform win32 metspack/system

# All tests with branch coverage: 97 % overall, 100 % of the pure modules. Those that fail system calls count them.
test:
    {{uv}} pytest -m "slow or not slow" --ignore=tests/crash/test_crash.py --cov --cov-report=term
    {{uv}} coverage report --fail-under=100 --include="$(tr '\n' ',' < tests/pure_modules.txt)"

# What to run while working: the tests of pure modules, of the samples and of the rules of the source.
quick:
    {{uv}} pytest -q $(cat tests/pure_tests.txt) tests/test_golden.py tests/test_architecture.py tests/test_imports.py

# The README's tests in clones as people have them: other places, users, languages and Pythons.
anywhere *places:
    tests/anywhere.sh {{places}}

# The tests that `just test` and the README leave out, as they take long.
slow:
    {{uv}} pytest -q -m slow

# The tests with ten times as many generated examples.
thorough:
    METSPACK_THOROUGH=1 {{uv}} pytest -q --timeout=3600

# Change every byte of every METS and manifest of the sample package, one by one: each change is found.
damage:
    METSPACK_EVERY_BYTE=1 {{uv}} pytest -q --timeout=0 tests/checking/test_every_damage.py

# Write the golden packages anew after a change that is meant to change them.
golden:
    {{uv}} python samples/make_golden.py

# Write docs/findings.md anew from the catalogue of codes and tests/faults.toml.
findings:
    {{uv}} python -m tests.findings_page

# Write docs/rules.md anew from the tables of requirements.
rules:
    {{uv}} python -m tests.rules_page

# Write docs/options.md anew from the commands.
options:
    {{uv}} python -m tests.options_page

# Write docs/refusals.md anew from tests/refusals.toml.
refusals:
    {{uv}} python -m tests.refusals_page

# Write docs/threats.md anew from tests/threats.toml.
threats:
    {{uv}} python -m tests.threats_page

# List the docstrings and names that break a rule of words, as `just words metspack/mets`; `just words --lower` lowers the allowances.
words *packages:
    {{uv}} python -m tests.words {{packages}}

# Write the table of CONTRIBUTING.md anew from the list of files that tests need.
outside-files:
    {{uv}} python -m tests.shared_data

# Make the sample archives anew (byte for byte the same unless the script changed).
samples:
    {{uv}} python samples/make_northwind.py

# Wheel and sdist in dist/, each installed in a fresh environment and tried there.
dist:
    rm -rf dist
    SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" {{uv}} python -m hatchling build -d dist
    {{uv}} python -m tests.distribution dist

# What is published with a version, in release/: the same bytes in any clone of the commit, with the same Python.
release *options:
    uv run --locked --group docs --group release python -m tests.release release {{options}}
    {{uv}} python -m tests.distribution release

# Try the wheel of a folder with each extra alone, in fresh environments of each Python that is there or can be had.
extras folder="release" *pythons:
    {{uv}} python -m tests.extras {{folder}} {{pythons}}

# Draw the picture of a report in README.md anew; needs a Chromium.
picture:
    {{uv}} python samples/make_picture.py

# Keep small packages as this version builds them, for later versions to read; once, before a release.
keep:
    {{uv}} python -m tests.packages.keep

# Measure beside the references: all rows, or `just bench --small`, `just bench --rows build-folder,check --scale 0.1`.
bench *options:
    {{uv}} python -m bench {{options}}

# Microseconds per LOB by stage that the contender of a row of `just bench --list` takes.
profile row *options:
    {{uv}} python -m bench.profiling {{row}} {{options}}

# Kill a build of many LOBs at random moments, go on each time, and compare the bytes.
resuming lobs="100000" kills="10":
    #!/usr/bin/env bash
    set -eu
    folder=$(mktemp -d)
    trap 'rm -rf -- "$folder"' EXIT
    {{uv}} python -m bench.data stored "$folder/many.siard" {{lobs}} 300
    {{uv}} python -m bench.resuming "$folder/many.siard" "$folder" {{kills}}

# Write docs/performance.md and the README's ratio anew from figures: `just bench --json FILE`, then `just performance FILE`; of several files the last one with a row counts.
performance *files="bench/figures.json":
    {{uv}} python -m bench.page {{files}}

# What commands take to start, as ratios to a Python that does nothing.
startup runs="15":
    {{uv}} python -m bench.startup {{runs}}

# The documentation as a site, in site/: no warning, no dead link, nothing fetched.
docs:
    NO_MKDOCS_2_WARNING=1 uv run --locked --group docs mkdocs build --strict --quiet

# What others' tools say to our packages, and ours to theirs; writes the tables of docs/interop.md anew.
interop:
    test -x .interop/bin/python || uv venv --quiet --python 3.11 .interop
    uv pip install --quiet --python .interop/bin/python --requirements tests/interop/requirements.txt
    uv pip install --quiet --python .interop/bin/python --no-deps --requirements tests/interop/requirements-alone.txt
    rm -f .interop/observed.jsonl
    {{uv}} pytest -n 0 -rs --timeout=1800 tests/interop || failed=$?; {{uv}} python -m tests.interop.page; exit ${failed:-0}

# Packages with one change each, all digests put right: what check does not tell, no command refuses.
mutate seed="0" count="500":
    {{uv}} python -m tests.mutants --seed {{seed}} --count {{count}}

# Write anew the findings of all packages of tests, reports of some, inspections and the options of all commands, after a change that is meant to.
record:
    {{uv}} python -m tests.record
    {{uv}} python -m tests.reporting.golden
    {{uv}} python -m tests.inspecting.golden

# Let calls of every command fail, kill it, cut the power: no law is broken. Writes the table of docs/reliability.md.
crash every="70" states="30":
    {{uv}} python -m tests.crash --every {{every}} --states {{states}} --write

# Feed what reads data from elsewhere with what atheris makes up, each target for so many seconds.
fuzz seconds="60" *options:
    uv run --locked --group fuzz python -m tests.fuzz --seconds {{seconds}} {{options}}

# Hostile input at full size: time, memory and growth of each against the bounds; `just hostile --list`.
hostile *options:
    {{uv}} python -m tests.hostile {{options}}

# On Windows, by Wine: commands, packages and findings as here, and the promises about files. Needs apt's wine and wine64.
windows *options:
    {{uv}} python -m tests.windows {{options}}

# Mutate the code of planner, resolver, parts, link checker and journal; `just mutants links --every 10`, `--write` for the page.
mutants *options:
    uv run --locked --group mutation python -m tests.codemutants {{options}}
