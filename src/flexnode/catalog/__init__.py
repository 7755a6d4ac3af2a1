"""The one source of truth for versions, digests and where files come from."""

from flexnode.catalog.catalog import Catalog, ReleaseSet, load_catalog
from flexnode.catalog.document import render_catalog
from flexnode.catalog.overlay import render_overlay

__all__ = ["Catalog", "ReleaseSet", "load_catalog", "render_catalog", "render_overlay"]
