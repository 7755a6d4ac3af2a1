"""From files, environment and flags to the resolved configuration. The only part of it that reads files.

From weakest to strongest: defaults, what was detected, the image's manifest, the
configuration file, drop-ins by name, the environment, flags.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from flexnode.config.decode import decode_layer
from flexnode.config.documents import parse_document
from flexnode.config.environment import decode_environment, decode_sets
from flexnode.config.layers import DecodedLayer, Layer
from flexnode.config.problems import Problem, Report
from flexnode.config.resolve import Resolved, resolve
from flexnode.config.tree import leaves
from flexnode.config.types import holds_secret
from flexnode.config.v1 import NODE_CONFIG
from flexnode.errors import ConfigError

DIRECTORY: Final = Path("/etc/aks-flex-node")
IMAGE_MANIFEST: Final = Path("/usr/lib/aks-flex-node/image.json")
SUFFIXES: Final = (".json", ".yaml", ".yml")

# An image is made once and started in many places: what belongs to one node or one cluster is not in it.
_NOT_IN_IMAGES: Final = ("cluster", "auth", "azure")


def load_config(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    sets: Sequence[str] = (),
    image: Path = IMAGE_MANIFEST,
    metadata: Sequence[Layer] = (),
    complete: bool = True,
    directory: Path = DIRECTORY,
) -> Resolved:
    """The configuration of this machine.

    `path` is the file that the user named, None for the usual one, which may be absent. Drop-ins lie in
    `config.d` beside it. `complete`: whether a node must be able to join with it. Raises `ConfigError`; if
    something in the sources is wrong, `InvalidConfig` with all of it.
    """
    environ = {} if environ is None else environ
    main = find_config(path, directory)
    files: list[Path] = []
    layers: list[DecodedLayer] = []
    if _exists(image):
        layers.append(load_image_layer(image))
        files.append(image)
    layers += [decode_layer(layer) for layer in metadata]
    if main is not None:
        layers.append(load_file(main))
        files.append(main)
    folder = (main.parent if main else directory) / "config.d"
    drop_ins, ignored = find_drop_ins(folder)
    layers += [load_file(drop_in, fragment=True) for drop_in in drop_ins]
    files += drop_ins
    layers += [*decode_environment(environ), *decode_sets(sets)]
    if complete and not layers:
        raise _not_found(f"there is no configuration: neither {directory / 'config.json'} nor config.yaml")
    exposed = Report()
    _check_references(layers, exposed)
    layers.append(DecodedLayer(origin="", data={}, problems=tuple(exposed.problems)))
    return resolve(
        [layer for layer in layers if layer.data or layer.problems or layer.warnings],
        environ=environ,
        complete=complete,
        files=tuple(files),
        warnings=ignored,
    )


def find_config(path: Path | None = None, directory: Path = DIRECTORY) -> Path | None:
    """The configuration file: the one that was named, which must exist, or the usual one if there is one."""
    if path is not None:
        if not _exists(path):
            raise _not_found(f"{path} does not exist")
        directory = path.parent
    usual = [directory / f"config{suffix}" for suffix in SUFFIXES]
    present = [file for file in usual if _exists(file)]
    if len(present) > 1 and (path is None or path in present):
        raise ConfigError(
            f"there are both {present[0]} and {present[1].name}: nobody can tell which one is meant",
            code="config/ambiguous",
            hint="keep one of them; what shall be added to it goes into config.d/",
        )
    return path if path is not None else next(iter(present), None)


def find_drop_ins(folder: Path) -> tuple[list[Path], list[Problem]]:
    """The drop-ins of a folder in the order of their names, and a word on each file that is none."""
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise _unreadable(folder, error) from error
    visible = [entry for entry in entries if not entry.name.startswith(".")]
    ignored = [
        Problem(path=(), what="is ignored", origin=str(entry), hint="drop-ins end in .json or .yaml")
        for entry in visible
        if entry.suffix not in SUFFIXES
    ]
    return [entry for entry in visible if entry.suffix in SUFFIXES], ignored


def load_file(path: Path, *, fragment: bool = False) -> DecodedLayer:
    """What one file says."""
    report = Report(origin=str(path))
    data = _read_data(path, report)
    if data is None:
        data = {}
        if not fragment:
            report.add((), "is empty")
    if report.problems:
        return DecodedLayer(origin=report.origin, data={}, problems=tuple(report.problems))
    layer = decode_layer(Layer(origin=report.origin, data=data, fragment=fragment))
    exposed = _check_mode(path, layer)
    return _with(layer, problems=exposed)


def load_image_layer(path: Path) -> DecodedLayer:
    """What the image that the machine was started from says: `config` in its manifest."""
    report = Report(origin=str(path))
    manifest = _read_data(path, report)
    if report.problems:
        return DecodedLayer(origin=report.origin, data={}, problems=tuple(report.problems))
    if not isinstance(manifest, dict):
        report.add((), "is not the manifest of an image")
        return DecodedLayer(origin=report.origin, data={}, problems=tuple(report.problems))
    layer = decode_layer(Layer(origin=report.origin, data=manifest.get("config", {}), fragment=True))
    for name in _NOT_IN_IMAGES:
        if name in layer.data:
            report.add((name,), "does not belong into an image", hint="configure it on the machine")
    if "name" in layer.data.get("node", {}):
        report.add(("node", "name"), "does not belong into an image", hint="configure it on the machine")
    for place, value in leaves(NODE_CONFIG, layer.data):
        if holds_secret(value) and place[0] not in _NOT_IN_IMAGES:
            report.add(place, "is a secret, and an image holds none", hint="configure it on the machine")
    return _with(layer, problems=report.problems)


def _read_data(path: Path, report: Report) -> Any:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        report.add((), "is not text in UTF-8")
        return {}
    except OSError as error:
        hint = "run this as root" if isinstance(error, PermissionError) else ""
        report.add((), f"cannot be read: {error.strerror or error}", hint=hint)
        return {}
    yaml = path.suffix in (".yaml", ".yml") or (path.suffix != ".json" and text.lstrip()[:1] != "{")
    return parse_document(text, report, yaml=yaml)


def _check_mode(path: Path, layer: DecodedLayer) -> list[Problem]:
    """A problem for a secret that stands in a file which others can read."""
    secrets = [place for place, value in leaves(NODE_CONFIG, layer.data) if holds_secret(value)]
    if not secrets or not _exposed(path):
        return []
    what = "is a secret in a file that every user can read"
    return [
        Problem(path=place, what=what, origin=str(path), hint=f"chmod 600 {path}") for place in secrets[:1]
    ]


def _check_references(layers: Iterable[DecodedLayer], report: Report) -> None:
    """Secrets that lie in files of their own, where those files are there already."""
    for layer in layers:
        for place, value in leaves(NODE_CONFIG, layer.data):
            if isinstance(value, dict) and value.keys() == {"file"} and _exposed(Path(value["file"])):
                what = f"is read from {value['file']}, which every user can read"
                report.problems.append(
                    Problem(path=place, what=what, origin=layer.origin, hint=f"chmod 600 {value['file']}")
                )


def _exposed(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:  # it may come later; reading it will say so
        return False
    return stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)


def _with(layer: DecodedLayer, *, problems: Sequence[Problem]) -> DecodedLayer:
    return DecodedLayer(
        origin=layer.origin,
        data=layer.data,
        keys=layer.keys,
        problems=(*layer.problems, *problems),
        warnings=layer.warnings,
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # the directory is root's alone, so nobody else can even ask
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> ConfigError:
    hint = "run this as root" if isinstance(error, PermissionError) else "name another file with --config"
    return ConfigError(
        f"{path} cannot be read: {error.strerror or error}", code="config/unreadable", hint=hint
    )


def _not_found(message: str) -> ConfigError:
    return ConfigError(
        message,
        code="config/not-found",
        hint="name one with --config, or let `aks-flex-node cluster node-config` write one",
    )
