"""The server that tests ask keeps what was written when it is killed."""

from __future__ import annotations

from pathlib import Path

from search.store.milvus.address import Address
from search.store.milvus.client import Client
from tests.milvus_server import MilvusServer


def test_a_server_that_is_killed_has_kept_what_was_written(tmp_path: Path) -> None:
    from pymilvus import DataType

    server = MilvusServer(tmp_path / "data")
    server.start()
    client = Client(Address.parse(f"{server.uri}/notes"))
    try:
        client.create(
            "seewhy_notes",
            lambda schema: [
                schema.add_field("key", DataType.VARCHAR, max_length=64, is_primary=True),
                schema.add_field("nothing", DataType.FLOAT_VECTOR, dim=2),
            ],
            lambda indexes: indexes.add_index("nothing", index_type="FLAT", metric_type="IP"),
        )
        client.put("seewhy_notes", [{"key": "1/0", "nothing": [0.0, 0.0]}])
        server.kill()
        server.start()
        assert client.query("seewhy_notes", "key != ''", ["key"]) == [{"key": "1/0"}]
    finally:
        client.close()
        server.kill()
