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

# Tests with branch coverage: 95 % overall, 100 % of the pure modules.
test:
    {{uv}} pytest --cov --cov-report=term
    {{uv}} coverage report --fail-under=100 --include="$(tr '\n' ',' < tests/pure_modules.txt)"

# The tests with ten times as many generated examples.
thorough:
    METSPACK_THOROUGH=1 {{uv}} pytest -q

# Change every byte of every METS and manifest of the sample package, one by one: each change is found.
damage:
    METSPACK_EVERY_BYTE=1 {{uv}} pytest -q tests/checking/test_every_damage.py

# Write the golden packages anew after a change that is meant to change them.
golden:
    {{uv}} python samples/make_golden.py

# Write docs/findings.md anew from the catalogue of codes.
findings:
    {{uv}} python -m tests.findings_page

# Write docs/rules.md anew from the tables of requirements.
rules:
    {{uv}} python -m tests.rules_page

# Write the table of CONTRIBUTING.md anew from the list of files that tests need.
outside-files:
    {{uv}} python -m tests.shared_data

# Make the sample archives anew (byte for byte the same unless the script changed).
samples:
    {{uv}} python samples/make_northwind.py

# Measure: planning, building against the floors, checking against a bare parse; figures are ratios.
bench:
    {{uv}} python bench/plan.py
    {{uv}} python bench/build.py
    {{uv}} python bench/check.py
    {{uv}} python bench/startup.py

# What others' tools say to our packages, and ours to theirs; writes the tables of docs/interop.md anew.
interop:
    test -x .interop/bin/python || uv venv --quiet --python 3.11 .interop
    uv pip install --quiet --python .interop/bin/python --requirements tests/interop/requirements.txt
    uv pip install --quiet --python .interop/bin/python --no-deps --requirements tests/interop/requirements-alone.txt
    rm -f .interop/observed.jsonl
    {{uv}} pytest -n 0 -rs tests/interop || failed=$?; {{uv}} python -m tests.interop.page; exit ${failed:-0}

# Packages with one change each, all digests put right: what check does not tell, no command refuses.
mutate seed="0" count="500":
    {{uv}} python -m tests.mutants --seed {{seed}} --count {{count}}
