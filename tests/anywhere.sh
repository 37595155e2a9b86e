#!/usr/bin/env bash
# Runs the README's second command in clones of the last commit, as people have them, and prints what came of each:
#   tests/anywhere.sh [PLACE ...]     all places where none is named
# ANYWHERE is the folder for the clones; OLDEST and NEWEST are the interpreters (python3.11, python3.13).
# As root on Linux all places are tried; where a place cannot be made, it is said.
set -uo pipefail
here=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
base=$(mktemp -d -p "${ANYWHERE:-${TMPDIR:-/tmp}}")
trap 'emptied; rm -rf -- "$base"' EXIT
chmod 755 "$base"
command=$(grep -m1 'uv run -q --locked pytest' "$here/README.md")
places=(below_tmp blanks user no_interrupt umask_077 other_locale offline bare oldest newest again)

emptied() { # takes away what tests have mounted, though it be busy, and all clones
    grep -o " $base/[^ ]*" /proc/mounts 2> /dev/null | while read -r each; do
        umount "$(printf %b "$each")" 2> /dev/null || umount -l "$(printf %b "$each")"
    done
    rm -rf -- "${base:?}"/*
}

clone() { # FOLDER
    git clone -q "$here" "$1" && cd "$1"
}

tried() { # NAME COMMAND ...
    local name=$1
    shift
    echo "== $name: $(pwd), TMPDIR $TMPDIR"
    { time "$@" > "$base/log" 2>&1; echo "rc $?"; } 2>&1 | grep -v '^$'
    grep -h '^FAILED\|^ERROR\|passed\|failed' "$base/log" | sort -u | head -n 30
    git -c safe.directory='*' status --short
}

readme() { # runs the command as it stands there, behind others
    bash -c "$*${*:+ }$command"
}

below_tmp() { export TMPDIR=$base; clone "$base/clone" && tried below_tmp readme; }
blanks() {
    export TMPDIR="$base/tmp of mine"
    mkdir "$TMPDIR" && clone "$base/Prüfung der Großen Objekte" && tried blanks readme
}
user() {
    [ "$(id -u)" = 0 ] || { echo "== user: only root can become another"; return; }
    export TMPDIR=$base/tmp HOME=$base/home
    mkdir "$TMPDIR" "$HOME" && clone "$base/clone" && chown -R nobody "$TMPDIR" "$HOME" "$base/clone"
    tried user setpriv --reuid=nobody --clear-groups bash -c "$command"
}
no_interrupt() { clone "$base/clone" && tried no_interrupt readme "trap '' INT;"; }
umask_077() { clone "$base/clone" && tried umask_077 readme "umask 077;"; }
other_locale() {
    clone "$base/clone" && LC_ALL=C LANGUAGE=de tried other_locale readme
}
offline() { # the environment is made while there is a network
    clone "$base/clone" && bash -c "${command%pytest -q}python -V" > "$base/made.log" 2>&1
    tried offline unshare --net bash -c ".venv/bin/uv run -q --offline --locked pytest -q"
}
bare() { # without what not every system has
    mkdir "$base/bin"
    find -H ${PATH//:/ } -maxdepth 1 ! -type d -executable -exec ln -s -t "$base/bin" {} + 2> /dev/null
    (cd "$base/bin" && rm -f chrom* google-chrome* jq strace java javac just cc gcc ssh-keygen xmllint)
    clone "$base/clone" && PATH=$base/bin tried bare readme
}
with_python() { # NAME PYTHON
    mkdir "$base/bin"
    ln -s "$(command -v "$2")" "$base/bin/python3" || { echo "== $1: there is no $2"; return; }
    clone "$base/clone" && PATH=$base/bin:$PATH tried "$1 ($("$2" -V))" readme
}
oldest() { with_python oldest "${OLDEST:-python3.11}"; }
newest() { with_python newest "${NEWEST:-python3.13}"; }
again() { clone "$base/clone" && readme > "$base/first.log" 2>&1; tried again readme; }

for each in "${@:-${places[@]}}"; do
    (TMPDIR=$base "$each")
    emptied
done
