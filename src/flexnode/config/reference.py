"""The reference page of all settings, made from their declarations."""

from __future__ import annotations

import json
from collections.abc import Iterator

from flexnode.config import v1
from flexnode.config.environment import variable_name
from flexnode.config.problems import Path
from flexnode.config.tree import UNSET, Section, Setting, entries
from flexnode.config.types import SecretText

_OPENING = f"""\
# Configuration

<!-- Made from the declarations of the settings: `aks-flex-node config schema --markdown`. -->

A document says `apiVersion: {v1.API_VERSION}` and `kind: {v1.KIND}`, in JSON or YAML. The smallest one
that joins a cluster:

```yaml
apiVersion: {v1.API_VERSION}
kind: {v1.KIND}
cluster:
  server: https://api.example.com:6443
  ca: |
    -----BEGIN CERTIFICATE-----
    …
    -----END CERTIFICATE-----
auth:
  bootstrapToken:
    file: /etc/aks-flex-node/token
```

`aks-flex-node cluster node-config` writes it. Every other setting is optional.

## Where values come from

From weakest to strongest; maps merge, lists replace:

1. built-in defaults, and what the product finds out where nobody says it;
2. `config` in the manifest of the image that the machine was started from;
3. `/etc/aks-flex-node/config.json` or `config.yaml` (both is an error), or the file that `--config` names;
4. drop-ins in `config.d/` beside it, by name; they need no `apiVersion` and `kind`;
5. the environment: `FLEXNODE_KUBELET__MAX_PODS=50`, where `__` separates levels, case does not matter, and
   lists and maps are JSON;
6. `--set kubelet.maxPods=50`; below a map the rest of the path is one key:
   `--set node.labels.example.com/rack=17`.

`aks-flex-node config show --origin` tells where each value comes from and what it overrode. A key that is not
listed here is an error, as is one that is written twice.

## Secrets

A secret stands in the document itself, which then must not be readable by others (`chmod 600`), or the
document says where it lies: `{{"file": PATH}}`, or `{{"credential": NAME}}` for a credential that systemd
gives to the agent's unit. It is read when it is needed, and never shown. On the command line it is refused:
every user could read it there.

## Older documents

Documents without `apiVersion` and `kind` are of one of two older shapes. They are read as they are;
`aks-flex-node config convert` writes what they say in the form of this page.

## Settings
"""


def render_reference() -> str:
    """The page `docs/reference/configuration.md`."""
    parts = [_OPENING]
    for name, child in v1.NODE_CONFIG.fields.items():
        parts.append(f"\n### {name}\n\n{child.about}\n")
        if isinstance(child, Section):
            parts += _render_section(child, (name,))
    return "".join(parts)


def _render_section(section: Section, at: Path) -> Iterator[str]:
    for name, child in section.fields.items():
        place = (*at, name)
        if isinstance(child, Section):
            yield f"\n#### `{_render_place(place)}`\n\n{child.about}\n"
            yield from _render_section(child, place)
            continue
        yield _render_setting(place, child)
        if (inner := entries(child)) is not None:
            mark, entry = inner
            yield from _render_section(entry, (*place, mark))


def _render_setting(path: Path, setting: Setting) -> str:
    lines = [f"\n#### `{_render_place(path)}`\n\n{setting.about}\n\n"]
    lines += [f"* {line}\n" for line in _facts(path, setting)]
    return "".join(lines)


def _facts(path: Path, setting: Setting) -> Iterator[str]:
    yield f"Type: {setting.type.words}" + (" (a secret)" if _is_secret(setting) else "")
    if setting.default is not UNSET:
        yield f"Default: `{json.dumps(setting.default)}`"
    if setting.unset:
        yield f"Unset: {setting.unset}"
    yield f"A change {setting.effect}"
    if not {"*", "[]"} & set(path):
        yield f"Environment: `{variable_name(path)}`"


def _is_secret(setting: Setting) -> bool:
    return isinstance(setting.type, SecretText) and not setting.type.inner.login


def _render_place(path: Path) -> str:
    """Like a path in a document; `NAME` for a key that the user chooses."""
    text = ""
    for step in path:
        if step == "[]":
            text += "[]"
        else:
            text += ("." if text else "") + ("NAME" if step == "*" else str(step))
    return text
