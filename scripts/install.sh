#!/bin/sh
# Install AKS Flex Node, or put another version in the place of the installed one. Needs root, Python, and what
# every Debian and Ubuntu has; no network. Run it again at any time: it does only what is missing.
set -eu

PROGRAM=aks-flex-node
HOME_DIR=/opt/aks-flex-node
CONFIG_DIR=/etc/aks-flex-node
UNITS=/etc/systemd/system
BUSY=75
NEWLINE='
'

usage() {
  cat <<EOF
usage: install.sh [--config FILE] [--start] [--root DIR] [ARCHIVE | FOLDER]

Installs the archive that this script lies in, or ARCHIVE, or that archive of FOLDER (by default: this script's
own folder) which fits this machine. The version that was installed before stays beside it.

  --config FILE   make FILE the node's configuration (.json or .yaml); another one that is there is not replaced
  --start         start the agent, now and at each boot
  --root DIR      install into the root file system at DIR, which does not run; with --start, it starts at boot
EOF
}

say() { printf '%s\n' "$*"; }

fail() { # what happened, what to do
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '  next: %s\n' "$2" >&2
  exit "${3-1}"
}

# ---- What to install, and where. Until `begin` nothing is changed.

find_lines() { # the lines of Python on the machine; the one that its own programs use first
  {
    basename "$(readlink "$root/usr/bin/python3" || true)"
    for folder in "$root/usr/bin" "$root/usr/local/bin"; do
      ls "$folder" 2>/dev/null | grep -x 'python3\.[0-9]*' | sort -Vr || true
    done
  } | sed -n 's/^python\(3\.[0-9]*\)$/\1/p' | awk '!seen[$0]++'
}

find_python() { # where the interpreter of a line lies, without the root
  for python in "/usr/bin/python$1" "/usr/local/bin/python$1"; do
    if [ -x "$root$python" ]; then
      printf '%s' "$python"
      return
    fi
  done
  return 1
}

find_arch() { # what the interpreter is built for: the kernel may run programs of two architectures
  case $(od -An -tx1 -j18 -N1 "$root$1") in
    *3e) echo amd64 ;;
    *b7) echo arm64 ;;
    *) echo other ;;
  esac
}

find_archive() { # the newest archive in a folder that fits the machine
  for line in $(find_lines); do
    arch=$(find_arch "$(find_python "$line")")
    found=$(ls "$1" | grep -x "$PROGRAM-.*-py$(echo "$line" | tr -d .)-$arch\.tar\.gz" | sort -V | tail -n 1)
    if [ "$found" ]; then
      printf '%s/%s' "$1" "$found"
      return
    fi
  done
  return 1
}

describe_machine() {
  lines=$(find_lines | tr '\n' ' ')
  [ "$lines" ] || { printf 'no Python 3'; return; }
  arch=$(find_arch "$(find_python "${lines%% *}")")
  printf 'Python %son %s' "$lines" "$arch"
}

install_archive() { # unpack an archive, and let the script in it do the rest
  sums=$(dirname "$1")/SHA256SUMS
  if [ -e "$sums" ]; then
    expected=$(awk -v name="$(basename "$1")" '$2 == name { print $1 }' "$sums")
    [ "$expected" = "$(sha256sum <"$1" | cut -d ' ' -f 1)" ] ||
      fail "$1 is not the file that $sums lists" "copy it here again; nothing was changed"
  fi
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  tar -xzf "$1" -C "$scratch" --no-same-owner || fail "$1 cannot be unpacked" "copy it here again; nothing was changed"
  set -- "$scratch"/*
  [ -e "$1/MANIFEST.json" ] || fail "this is not an archive of AKS Flex Node"
  set -- "$1" ${root:+--root "$root"}
  [ -z "$config" ] || set -- "$@" --config "$config"
  [ -z "$start" ] || set -- "$@" --start
  unpacked=$1
  shift
  sh "$unpacked/install.sh" "$@"
}

field() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$2/MANIFEST.json"; }

listed() { sed -n 's/^    "\(.*\)": "\([0-9a-f]\{64\}\)",\{0,1\}$/\2  \1/p' "$1/MANIFEST.json"; }

is_whole() { (cd "$1" && listed . | sha256sum --check --quiet --strict -) >&2; }

verify() { # every file is what the manifest says, and there is no other
  if ! is_whole "$1"; then
    fail "$1 is damaged" "unpack the archive again; nothing was changed"
  fi
  others=$(cd "$1" && {
    listed . | cut -c 67-
    echo MANIFEST.json
  } | LC_ALL=C sort >"$2" && find . ! -type d | cut -c 3- | LC_ALL=C sort | comm -3 "$2" - | tr -d '\t')
  [ -z "$others" ] || fail "this is not what was packed: $others" "unpack the archive again; nothing was changed"
}

check_target() {
  line=$(field python "$source")
  arch=$(field arch "$source")
  python=$(find_python "$line") && [ "$(find_arch "$python")" = "$arch" ] ||
    fail "this archive is for Python $line on $arch; here is $(describe_machine)" \
      "take the archive for that, or install python$line (Ubuntu 22.04 has python3.11 beside its own 3.10)"
  [ "$root" ] || "$python" -I -S -B "$source/start.py" version >/dev/null ||
    fail "the program does not run on this machine" "see what it says above; nothing was changed"
}

check_config() {
  case $config in
    '') return ;;
    *.json) target=config.json ;;
    *.yaml | *.yml) target=config.yaml ;;
    *) fail "$config is neither .json nor .yaml" "name it after what is in it" 2 ;;
  esac
  [ -r "$config" ] || fail "$config cannot be read" "see that the path is right" 2
  for other in config.json config.yaml config.yml; do
    [ "$other" = "$target" ] || [ ! -e "$root$CONFIG_DIR/$other" ] ||
      fail "there is a $CONFIG_DIR/$other already, and only one can be" "remove one of the two; nothing was changed"
  done
  [ ! -e "$root$CONFIG_DIR/$target" ] || cmp -s "$config" "$root$CONFIG_DIR/$target" ||
    fail "$CONFIG_DIR/$target is another one than $config" \
      "it is yours: change or remove it yourself, or leave --config out; nothing was changed"
}

# ---- Changes. Each is recorded before it is made, and is harmless to repeat.

begin() { # the folder with the record; one installation at a time
  top=$HOME_DIR
  while [ ! -d "$root${top%/*}/" ]; do top=${top%/*}; done
  if [ ! -d "$root$top" ]; then # whole or not at all: nothing may be made that the record does not know
    rm -rf "$root$top.flexnode-new"
    mkdir -p "$root$top.flexnode-new${HOME_DIR#"$top"}"
    folder=$HOME_DIR
    while [ "$folder" != "$top" ]; do
      folder=${folder%/*}
      printf 'folder %s\n' "$folder"
    done >"$root$top.flexnode-new${HOME_DIR#"$top"}/record"
    mv -T "$root$top.flexnode-new" "$root$top"
  fi
  home=$root$HOME_DIR
  record=$home/record
  exec 9>>"$home/lock"
  flock -n 9 || fail "another installation is under way" "wait for it" "$BUSY"
  [ -e "$record" ] || : >"$record"
  recorded=$(cat "$record")
}

says() { # whether a line stands in the record
  case $NEWLINE$recorded$NEWLINE in
    *"$NEWLINE$1$NEWLINE"*) ;;
    *) return 1 ;;
  esac
}

note() { says "$1" || recorded=$recorded${recorded:+$NEWLINE}$1; }

claim_folder() { # it is made if it is missing, with those above it
  [ ! -d "$root$1/" ] || return 0
  claim_folder "${1%/*}"
  note "folder $1"
}

claim() { # what is at a path before it is ours, is kept
  claim_folder "${1%/*}"
  ! says "made $1" && ! says "replaced $1" || return 0
  if [ -e "$root$1" ] || [ -L "$root$1" ]; then
    mkdir -p "$home/before${1%/*}"
    rm -rf "$home/before$1"
    cp -a "$root$1" "$home/before$1"
    note "replaced $1"
  else
    note "made $1"
  fi
}

claim_all() { # also what only --start makes: a link that a person makes meanwhile was not there before us
  while read -r _ path; do claim "$path"; done <<EOF
$(list_files && start=yes list_links)
EOF
  claim_folder "$CONFIG_DIR"
  [ "$recorded" != "$(cat "$record")" ] || return 0
  printf '%s\n' "$recorded" >"$record.new"
  sync -f "$record.new" # and the copies of what will be replaced
  mv -fT "$record.new" "$record"
}

place() { # a file of the archive, where it goes
  if [ -L "$root$2" ] || ! cmp -s "$1" "$root$2"; then
    mkdir -p "$root${2%/*}"
    cp "$1" "$root$2.flexnode-new"
    chmod 0644 "$root$2.flexnode-new"
    sync "$root$2.flexnode-new"
    mv -fT "$root$2.flexnode-new" "$root$2"
  fi
}

point() { # a link moves in one step
  [ "$(readlink "$2" || true)" != "$1" ] || return 0
  mkdir -p "${2%/*}"
  ln -sfn "$1" "$2.flexnode-new"
  mv -fT "$2.flexnode-new" "$2"
}

install_version() {
  version=versions/$(field version "$source")-$(sha256sum <"$source/MANIFEST.json" | cut -c 1-12)
  mkdir -p "$home/versions"
  if [ ! -d "$home/$version" ] || ! is_whole "$home/$version" 2>/dev/null; then
    draft=$home/versions/.draft
    rm -rf "$draft"
    cp -R "$source" "$draft"
    chmod -R u=rwX,go=rX "$draft"
    compile "$draft"
    sync -f "$draft"
    rm -rf "${home:?}/$version.damaged"
    [ ! -d "$home/$version" ] || mv -T "$home/$version" "$home/$version.damaged"
    mv -T "$draft" "$home/$version"
  fi
  current=$(readlink "$home/current" || true)
  if [ "$current" != "$version" ]; then
    : >"$home/restart-owed" # also if we end right after the next line
    [ -z "$current" ] || point "$current" "$home/previous"
    point "$version" "$home/current"
  fi
}

compile() { # bytecode, where the archive has none; a root file system that does not run compiles as it needs it
  [ -z "$root" ] && [ "$(field bytecode "$source")" = null ] || return 0
  (cd "$1" && "$python" -I -m compileall -q -o 0 --invalidation-mode unchecked-hash lib)
}

list_files() { # of the archive, and where they go
  cat <<EOF
systemd/$PROGRAM-agent.service $UNITS/$PROGRAM-agent.service
systemd/$PROGRAM-recover.service $UNITS/$PROGRAM-recover.service
completion/bash/$PROGRAM /usr/local/share/bash-completion/completions/$PROGRAM
completion/zsh/_$PROGRAM /usr/local/share/zsh/site-functions/_$PROGRAM
completion/fish/$PROGRAM.fish /usr/share/fish/vendor_completions.d/$PROGRAM.fish
EOF
}

list_links() { # what they say, and where they go; enabling a unit needs no systemd that runs
  wanted=$UNITS/multi-user.target.wants
  cat <<EOF
$HOME_DIR/current/bin/$PROGRAM /usr/local/bin/$PROGRAM
$UNITS/$PROGRAM-recover.service $wanted/$PROGRAM-recover.service
EOF
  [ -z "$start" ] || echo "$UNITS/$PROGRAM-agent.service $wanted/$PROGRAM-agent.service"
}

install_files() {
  list_files | while read -r file path; do place "$home/current/$file" "$path"; done
  list_links | while read -r words path; do point "$words" "$root$path"; done
}

install_config() {
  [ -d "$root$CONFIG_DIR" ] || mkdir -p -m 0700 "$root$CONFIG_DIR"
  if [ "$config" ] && [ ! -e "$root$CONFIG_DIR/$target" ]; then
    draft=$root$CONFIG_DIR/.$target.flexnode-new
    rm -f "$draft"
    (umask 077 && cat "$config" >"$draft")
    sync "$draft"
    mv -fT "$draft" "$root$CONFIG_DIR/$target"
  fi
}

prune() { # exactly one earlier version stays
  for folder in "$home"/versions/*; do
    case versions/${folder##*/} in
      "$(readlink "$home/current")" | "$(readlink "$home/previous" || true)") ;;
      *) rm -rf "$folder" ;;
    esac
  done
  [ ! -d "$home/versions/.draft" ] || rm -rf "$home/versions/.draft"
}

tell_systemd() { # a node that runs notices nothing but a new agent
  if [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    [ ! -e "$home/restart-owed" ] || systemctl try-restart "$PROGRAM-agent.service"
    [ -z "$start" ] || systemctl start "$PROGRAM-agent.service"
  fi
  rm -f "$home/restart-owed"
}

say_next() { # nothing where the agent starts at each boot already
  [ ! -L "$root$UNITS/multi-user.target.wants/$PROGRAM-agent.service" ] || return 0
  for file in config.json config.yaml config.yml; do
    if [ -e "$root$CONFIG_DIR/$file" ]; then
      say "next: systemctl enable --now $PROGRAM-agent"
      return
    fi
  done
  say "next: write $CONFIG_DIR/config.json, then systemctl enable --now $PROGRAM-agent"
}

root='' config='' start='' from=''
while [ $# -gt 0 ]; do
  case $1 in
    --config | --root)
      [ $# -gt 1 ] || fail "$1 needs a value" "see install.sh --help" 2
      if [ "$1" = --root ]; then root=$2; else config=$2; fi
      shift
      ;;
    --start) start=yes ;;
    -h | --help) usage && exit ;;
    -*) fail "unknown option: $1" "see install.sh --help" 2 ;;
    *) [ -z "$from" ] && from=$1 || fail "one archive or folder, not $1 too" "see install.sh --help" 2 ;;
  esac
  shift
done

umask 022
source=$(dirname "$(readlink -f "$0")")
if [ "$root" ]; then
  root=$(cd "$root" 2>/dev/null && pwd -P) || fail "there is no such folder to install into" "see --root" 2
  [ "$root" != / ] || root=''
fi
[ "$root" ] || [ "$(id -u)" = 0 ] || fail "installing needs root" "run it with sudo"
check_config

if [ "$from" ] || [ ! -e "$source/MANIFEST.json" ]; then
  from=${from:-$source}
  [ -e "$from" ] || fail "there is no $from" "name an archive, or a folder with archives" 2
  if [ -d "$from" ]; then
    archive=$(find_archive "$from") ||
      fail "no archive in $from is for this machine: here is $(describe_machine)" \
        "copy the archive for that here, or install a Python that there is an archive for"
  else
    archive=$from
  fi
  install_archive "$archive"
  exit
fi

listing=$(mktemp)
trap 'rm -f "$listing"' EXIT
verify "$source" "$listing"
check_target
begin
claim_all
install_version
install_files
install_config
prune
tell_systemd
say "$PROGRAM $(field version "$source") is installed in $HOME_DIR/$version; uninstall.sh there removes it"
say_next
