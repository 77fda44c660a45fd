"""The tables of `SqliteStore`, and the steps that bring a file of an older version up to date.

A file has the number of the last step that was applied to it in `pragma user_version`. To change the tables, append a
step to `MIGRATIONS`; never edit an older one.
"""

import sqlite3
from typing import Final

from fanlight.host.errors import StoreError

_CREATE_TABLES: Final = (
    # "if not exists", because files written before versions were counted have the tables and the version 0.
    "create table if not exists views (id text primary key, token text not null, server text not null,"
    " tool text not null, uri text not null, conversation text, arguments text, result text, cancelled text,"
    " context text, closed integer not null, seen integer not null, state text)",
    "create index if not exists by_conversation on views (conversation, seen)",
    "create index if not exists by_seen on views (seen)",
    "create table if not exists grants (server text, uri text, kind text, key text,"
    " primary key (server, uri, kind, key)) without rowid",
    "create table if not exists pins (server text, uri text, sha256 text not null, primary key (server, uri))"
    " without rowid",
    "create table if not exists audit (id integer primary key, time real not null, kind text not null,"
    " name text not null, outcome text not null, view text, server text, conversation text, by text,"
    " bytes_in integer, bytes_out integer, duration real, data text)",
    "create index if not exists by_view on audit (view)",
)

_ADD_DOCUMENTS: Final = (
    "create table documents (label text, address text, body blob not null, headers text not null,"
    " expires real not null, primary key (label, address))",
    "create index documents_by_expiry on documents (expires)",
)

_ADD_USERS: Final = (
    "alter table views add column user text",
    "alter table views add column created real not null default 0",
    "alter table views add column context_is_new integer not null default 0",
    # A token that a page has is worth as much as a password, so only its digest is stored.
    "alter table views drop column token",
    "create table tokens (digest text primary key, view text not null, expires real not null) without rowid",
    "create index tokens_by_view on tokens (view)",
    "drop index by_conversation",
    "create index by_conversation on views (user, conversation, seen)",
    # An empty user means none, because a primary key treats each null as different.
    "alter table grants rename to old_grants",
    "create table grants (user text not null, server text, uri text, kind text, key text,"
    " primary key (user, server, uri, kind, key)) without rowid",
    "insert into grants select '', server, uri, kind, key from old_grants",
    "drop table old_grants",
    "alter table pins rename to old_pins",
    "create table pins (user text not null, server text, uri text, sha256 text not null,"
    " primary key (user, server, uri)) without rowid",
    "insert into pins select '', server, uri, sha256 from old_pins",
    "drop table old_pins",
    "alter table audit add column user text",
    "create index audit_by_user on audit (user)",
    "create index audit_by_conversation on audit (conversation)",
    "create index audit_by_time on audit (time)",
)

_ADD_USERS_OF_DOCUMENTS: Final = (
    "alter table documents add column user text",
    "create index documents_by_user on documents (user)",
)

_ADD_CREDENTIALS: Final = (
    "create table credentials (user text, server text, data text not null, primary key (user, server)) without rowid",
)

_ADD_SESSIONS: Final = ("alter table views add column session text",)

_ADD_SETTINGS: Final = ("create table settings (name text primary key, value text not null) without rowid",)

_ADD_WORKERS: Final = (
    "alter table views add column caller text",
    "alter table views add column holder text",
    "alter table views add column shown integer not null default 0",
    "alter table views add column tools text",
    "create index views_unfinished on views (id) where result is null and cancelled is null and closed = 0",
    "create table payloads (key text primary key, body blob not null, expires real not null) without rowid",
    "create index payloads_by_expiry on payloads (expires)",
)

_SKIP_RECORDS_WITHOUT_OWNER: Final = (
    # A View waits for its record, and each index is another page to write. Many programs have no users.
    "drop index audit_by_user",
    "create index audit_by_user on audit (user) where user is not null",
    "drop index audit_by_conversation",
    "create index audit_by_conversation on audit (conversation) where conversation is not null",
)

MIGRATIONS: Final = (
    _CREATE_TABLES,
    _ADD_DOCUMENTS,
    _ADD_USERS,
    _ADD_USERS_OF_DOCUMENTS,
    _ADD_CREDENTIALS,
    _ADD_SESSIONS,
    _ADD_SETTINGS,
    _ADD_WORKERS,
    _SKIP_RECORDS_WITHOUT_OWNER,
)
"""The statements of each step. The first one takes a file from version 0 to version 1."""


def migrate(database: sqlite3.Connection, path: str) -> None:
    """Apply the steps that a database lacks, all or none of them. Raise `StoreError` if it is of a newer version."""
    if _version(database) == len(MIGRATIONS):
        return
    database.execute("begin immediate")  # another process may open the same file now
    try:
        version = _version(database)
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{path} was written by a newer Fanlight: its tables have the version {version}, and this one reads "
                f"versions up to {len(MIGRATIONS)}. Upgrade Fanlight, or name another file."
            )
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                database.execute(statement)
        database.execute(f"pragma user_version = {len(MIGRATIONS)}")
    except BaseException:
        database.execute("rollback")
        raise
    database.execute("commit")


def _version(database: sqlite3.Connection) -> int:
    version: int = database.execute("pragma user_version").fetchone()[0]
    return version
