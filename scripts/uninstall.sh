#!/bin/sh
# Remove AKS Flex Node, and put back what lay in its places before it was installed. The node has left its cluster
# before, with `aks-flex-node unbootstrap`: that undoes what the program did, this removes the program.
set -eu

PROGRAM=aks-flex-node
HOME_DIR=/opt/aks-flex-node
CONFIG_DIR=/etc/aks-flex-node
STATE=/var/lib/aks-flex-node
UNITS=/etc/systemd/system
BUSY=75

usage() {
  cat <<EOF
usage: uninstall.sh [--force] [--purge] [--root DIR]

  --force     also from a machine that is a node: what it runs goes on, and nobody looks after it any more
  --purge     also the configuration in $CONFIG_DIR
  --root DIR  from the root file system at DIR, which does not run
EOF
}

say() { printf '%s\n' "$*"; }

fail() { # what happened, what to do
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '  next: %s\n' "$2" >&2
  exit "${3-1}"
}

require_left() { # what the state says is enough: without it, nobody could undo what is there
  if [ -e "$root$STATE/journal" ]; then
    reason='a change of this machine has not come to its end'
  elif [ -e "$root$STATE/state.json" ] && ! grep -q '"desired": *"left"' "$root$STATE/state.json"; then
    reason='this machine is set up as a node'
  elif [ -e "$root$STATE/ledger" ]; then
    reason='this machine has not left its cluster completely'
  elif [ -e "$root/etc/kubernetes/kubelet.conf" ]; then
    reason="kubelet can log in to a cluster (/etc/kubernetes/kubelet.conf)"
  else
    return 0
  fi
  [ "$force" ] || fail "$reason" "run '$PROGRAM unbootstrap' first, or uninstall.sh --force to leave the node as it is"
  say "going on although $reason"
}

stop_units() {
  [ -z "$root" ] && [ -d /run/systemd/system ] || return 0
  for unit in agent recover; do
    [ ! -e "$UNITS/$PROGRAM-$unit.service" ] || systemctl stop "$PROGRAM-$unit.service"
  done
}

forget_units() {
  [ -z "$root" ] && [ -d /run/systemd/system ] || return 0
  systemctl daemon-reload
  systemctl reset-failed "$PROGRAM-agent.service" "$PROGRAM-recover.service" 2>/dev/null || true
}

restore() { # what the record says, the last entry first
  for link in "$root$UNITS"/*.wants/"$PROGRAM"-agent.service "$root$UNITS"/*.wants/"$PROGRAM"-recover.service; do
    [ ! -L "$link" ] || rm -f "$link" # also those that a person's `systemctl enable` made
  done
  [ -e "$record" ] || return 0
  tac "$record" | while read -r kind path; do
    remove_file "$root$path.flexnode-new"
    case $kind in
      made) remove_file "$root$path" ;;
      replaced)
        cp -a "$home/before$path" "$root$path.flexnode-new"
        mv -fT "$root$path.flexnode-new" "$root$path"
        ;;
    esac
  done
}

remove_file() { [ ! -e "$1" ] && [ ! -L "$1" ] || rm -f "$1"; }

remove_folders() { # those that were made; what somebody else put there stays, and they with it
  for folder in $folders; do
    [ ! -d "$root$folder" ] || [ "$(ls -A "$root$folder")" ] || rmdir "$root$folder" || true
  done
}

remove_tree() { # all of a folder; the folder itself stays where something is mounted on it
  [ -d "$root$1" ] || return 0
  find "$root$1" -xdev -mindepth 1 -delete
  rmdir "$root$1" 2>/dev/null || true
}

remove_home() { # the record goes with it, in one step: until then, the same command run again ends what was begun
  top=$HOME_DIR
  while says "folder ${top%/*}" && [ "$(ls -A "$root${top%/*}")" = "${top##*/}" ]; do top=${top%/*}; done
  [ ! -d "$root$top" ] || mv -T "$root$top" "$root$top.flexnode-old"
  remove_drafts
}

remove_drafts() { # what an interrupted installation or uninstallation left
  for folder in "$root$HOME_DIR" "$root${HOME_DIR%/*}"; do
    for draft in "$folder.flexnode-new" "$folder.flexnode-old"; do
      [ ! -d "$draft" ] || rm -rf "$draft"
    done
  done
}

says() { [ -e "$record" ] && grep -qxF "$1" "$record"; }

root='' force='' purge=''
while [ $# -gt 0 ]; do
  case $1 in
    --force) force=yes ;;
    --purge) purge=yes ;;
    --root)
      [ $# -gt 1 ] || fail "$1 needs a value" "see uninstall.sh --help" 2
      root=$2
      shift
      ;;
    -h | --help) usage && exit ;;
    *) fail "unknown word: $1" "see uninstall.sh --help" 2 ;;
  esac
  shift
done

if [ "$root" ]; then
  root=$(cd "$root" 2>/dev/null && pwd -P) || fail "there is no such folder to remove it from" "see --root" 2
  [ "$root" != / ] || root=''
fi
[ "$root" ] || [ "$(id -u)" = 0 ] || fail "this needs root" "run it with sudo"
require_left

home=$root$HOME_DIR
record=$home/record
remove_drafts
folders=''
if [ -d "$home" ]; then
  exec 9>>"$home/lock"
  flock -n 9 || fail "another installation is under way" "wait for it" "$BUSY"
  [ ! -e "$record" ] || folders=$(tac "$record" | sed -n 's/^folder //p')
fi
stop_units
restore
forget_units
for tree in "$STATE" /run/$PROGRAM /var/log/$PROGRAM; do remove_tree "$tree"; done
[ -z "$purge" ] || remove_tree "$CONFIG_DIR"
for draft in "$root$CONFIG_DIR"/.config.*.flexnode-new; do remove_file "$draft"; done
remove_folders
remove_home
say "$PROGRAM is removed"
[ ! -d "$root$CONFIG_DIR" ] || say "the configuration in $CONFIG_DIR stays; uninstall.sh --purge removes it too"
