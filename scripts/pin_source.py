#!/usr/bin/env python3
"""Pin one version of one component: write `sources/<component>/<version>/` with go.mod and go.sum.

    scripts/pin_source.py COMPONENT VERSION

Run from the project's virtual environment. The result builds without asking anybody for versions again:
the Go command checks each module against go.sum.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from flexlab.parts.recipes import RECIPES, Recipe
from flexnode.errors import FlexError
from flexnode.host import Command, run

SOURCES = Path(__file__).resolve().parents[1] / "sources"


def go(*arguments: str, cwd: Path) -> str:
    environment = {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return run(Command(argv=("go", *arguments), cwd=cwd, env=environment, timeout=1800)).text


def find_replacement(module: str, version: str, target: dict[str, str]) -> str | None:
    """What the replaced module is outside its own repository; None: what is required is right already."""
    if "Version" in target:
        return f"{target['Path']}@{target['Version']}"
    if module.startswith("k8s.io/"):  # a staging folder, published under v0 with the same minor and patch
        return f"{module}@v0.{version.split('.', 1)[1]}"
    return None


def edits(recipe: Recipe, version: str, upstream: dict[str, Any]) -> list[str]:
    """What our go.mod takes over from upstream's, whose own replacements and defaults do not reach us."""
    words = [f"-go={upstream['Go']}", f"-require={recipe.module}@v{version}"]
    words += [f"-tool={package}" for package in recipe.packages]
    words += [f"-godebug={item['Key']}={item['Value']}" for item in upstream.get("Godebug") or ()]
    words += [f"-exclude={item['Path']}@{item['Version']}" for item in upstream.get("Exclude") or ()]
    for item in upstream.get("Replace") or ():
        replacement = find_replacement(item["Old"]["Path"], version, item["New"])
        if replacement:
            words.append(f"-replace={item['Old']['Path']}={replacement}")
    return words


def pin(recipe: Recipe, version: str) -> Path:
    """Write the folder for `version`; only when all of it is known, since a folder there counts as pinned."""
    with tempfile.TemporaryDirectory() as scratch:
        draft = Path(scratch)
        (draft / "go.mod").write_text(f"module flexlab.invalid/sources/{recipe.component}\n")
        if recipe.main:
            (draft / "main.go").write_text(recipe.main)
        downloaded = json.loads(go("mod", "download", "-json", f"{recipe.module}@v{version}", cwd=draft))
        upstream = json.loads(go("mod", "edit", "-json", downloaded["GoMod"], cwd=draft))
        go("mod", "edit", *edits(recipe, version, upstream), cwd=draft)
        go("mod", "tidy", cwd=draft)
        folder = SOURCES / recipe.component / version
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(draft, folder)
        folder.chmod(0o755)  # the draft was nobody else's to read
    return folder


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in RECIPES:
        sys.exit(f"usage: {sys.argv[0]} {{{','.join(RECIPES)}}} VERSION")
    try:
        print(pin(RECIPES[sys.argv[1]], sys.argv[2]))
    except FlexError as error:
        sys.exit(f"{error.message}\n{error.hint}")


if __name__ == "__main__":
    main()
