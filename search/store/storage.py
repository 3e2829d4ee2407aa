"""Whether a place is fit to keep an index in.

SQLite needs locks that hold and writes that stay in order. Network drives promise either only at times, and a
program that syncs a folder copies index.db while it is written. Indexing there works mostly, so it is not
refused; whoever chose the place is told.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath

_NETWORK = frozenset(
    """
    9p afpfs afs beegfs ceph cifs coda davfs fuse.davfs fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs glusterfs
    gpfs lustre ncpfs nfs nfs4 orangefs prl_fs smb2 smb3 smbfs vboxsf vmhgfs webdav
    """.split()
)
_SYNCED = re.compile(
    r"(?i)dropbox( .*)?|onedrive( .*|-.*)?|google ?drive.*|my drive|icloud ?drive|mobile documents|cloudstorage"
    r"|nextcloud|owncloud|pcloud ?drive|mega(sync)?|seafile|box( sync)?"
)
_SYNC_MARKS = (".stfolder", ".dropbox.cache", ".owncloudsync.log", ".nextcloudsync.log")


def warning(index: Path) -> str | None:
    """What speaks against keeping an index in a folder, as a sentence; None for nothing."""
    place = index.resolve()
    what = _synced(place) or _network(place)
    if what is None:
        return None
    return (
        f"the index lies {what}, where a crash, or a second computer that writes to it, can damage it. "
        "Name a place on a local disk with --index, or set SEEWHY_HOME."
    )


def _synced(place: Path) -> str | None:
    for folder in place.parents:
        marked = any((folder / mark).exists() for mark in _SYNC_MARKS)
        if marked or _SYNCED.fullmatch(folder.name):
            return f"in a folder that another program syncs ('{folder}')"
    return None


def _network(place: Path) -> str | None:
    import psutil

    if place.drive.startswith("\\\\"):
        return f"on a network drive ('{place.drive}')"
    mounted = [part for part in psutil.disk_partitions(all=True) if _holds(part.mountpoint, place)]
    if not mounted:
        return None
    disk = max(mounted, key=lambda part: len(PurePath(part.mountpoint).parts))
    if disk.fstype.lower() in _NETWORK or "remote" in disk.opts.split(","):
        return f"on a network drive ('{disk.mountpoint}', {disk.fstype})"
    return None


def _holds(mountpoint: str, place: Path) -> bool:
    return place.is_relative_to(mountpoint)
