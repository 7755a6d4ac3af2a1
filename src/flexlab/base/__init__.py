"""Stock Debian images that the laboratory's machines boot, made from the machine's own Debian archive."""

from flexlab.base.build import Base, ensure_base, ensure_disk, list_archive_hosts

__all__ = ["Base", "ensure_base", "ensure_disk", "list_archive_hosts"]
