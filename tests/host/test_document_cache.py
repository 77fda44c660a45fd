import gzip

from fanlight import Csp
from fanlight.host.web.document_cache import DocumentCache, served_document

HTML = "<!doctype html><title>ä</title>" + "x" * 1000
ANCESTORS = ("http://localhost:8000", "http://sandbox.localhost:8000")
LABEL = "a" * 32


def test_a_document_is_served_unchanged_and_with_its_policy() -> None:
    document = served_document(LABEL, HTML, None, ["camera"], ANCESTORS)
    assert document.body.decode() == HTML
    assert gzip.decompress(document.compressed).decode() == HTML
    assert "connect-src 'none'" in document.headers["content-security-policy"]
    assert document.headers["permissions-policy"].startswith("camera=(self), microphone=()")
    assert document.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in document.headers


def test_the_address_changes_with_content_policy_and_permissions() -> None:
    csp = Csp(connect_domains=["https://a.example"])
    addresses = {
        served_document(LABEL, HTML, None, [], ANCESTORS).address,
        served_document(LABEL, HTML + " ", None, [], ANCESTORS).address,
        served_document(LABEL, HTML, csp, [], ANCESTORS).address,
        served_document(LABEL, HTML, None, ["camera"], ANCESTORS).address,
        served_document(LABEL, HTML, None, [], ANCESTORS[:1]).address,
        served_document(LABEL, HTML, None, [], ANCESTORS, "compat").address,
    }
    assert len(addresses) == 6
    assert served_document(LABEL, HTML, None, [], ANCESTORS).address in addresses


def test_a_document_is_found_only_at_its_own_app() -> None:
    documents = DocumentCache()
    document = documents.serve(LABEL, HTML, None, (), ANCESTORS)
    assert document == served_document(LABEL, HTML, None, (), ANCESTORS)
    assert documents.serve(LABEL, HTML, None, (), ANCESTORS) is document
    assert documents.get(LABEL, document.address) is document
    assert documents.get("b" * 32, document.address) is None
    assert documents.get(LABEL, "x") is None


def test_the_least_recently_used_document_is_discarded_first() -> None:
    one = served_document(LABEL, HTML + "0", None, (), ANCESTORS)
    documents = DocumentCache(max_bytes=2 * (len(one.body) + len(one.compressed)) + 50)
    one, two = (documents.serve(LABEL, HTML + str(i), None, (), ANCESTORS) for i in range(2))
    documents.get(LABEL, one.address)
    documents.serve(LABEL, HTML + "2", None, (), ANCESTORS)
    assert documents.get(LABEL, two.address) is None
    assert documents.get(LABEL, one.address) is one
    again = documents.serve(LABEL, HTML + "1", None, (), ANCESTORS)
    assert documents.get(LABEL, two.address) is again
