#!/usr/bin/env bash
# Resolve requirements/*.in into requirements/*.txt: exact versions, digests, and no index or host.
set -euo pipefail
cd "$(dirname "$0")/../requirements"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
"$tools/bin/pip" -q install pip-tools
for name in runtime dev go; do
  CUSTOM_COMPILE_COMMAND="make lock" "$tools/bin/pip-compile" -q --generate-hashes --allow-unsafe --strip-extras \
    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o "$name.txt" "$name.in"
done
