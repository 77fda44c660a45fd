"""A document is bundled into one document with as few changes as possible."""

import base64
import os
from pathlib import Path

import pytest

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError
from fanlight.server.bundle import Bundle, bundle_file, bundle_text, reference

HEAD = "<!doctype html>\n<title>T</title>\n"
PNG = "data:image/png;base64," + base64.b64encode(b"png").decode()


def _bundle(folder: Path, text: str, csp: Csp | None = None, **files: str | bytes) -> Bundle:
    """Write a document and further files, in whose names `_` stands for `.`, and bundle them."""
    for name, content in files.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    (folder / "view.html").write_bytes(text.encode())
    return bundle_file(folder / "view.html", csp or Csp())


def _body(folder: Path, text: str, csp: Csp | None = None, **files: str | bytes) -> str:
    return _bundle(folder, HEAD + text, csp, **files).html.removeprefix(HEAD)


# The document


@pytest.mark.parametrize(
    "text",
    [
        "<!doctype html><p>x",
        "<!DOCTYPE html>\r\n<html>\r\n<BODY bgcolor=red>\r\n</BODY>\r\n</html>\r\n",
        "\ufeff \n<!-- hello --><!-- x --!>\n<!doctype html SYSTEM 'about:legacy-compat'><p",
        HEAD + "<a href=other.html><form action=/go><button formaction=x></form><area href=y>",
        HEAD + "<img src=data:image/png;base64,AA srcset='data:image/png;base64,AA 2x'><img src=blob:x><img src=''>",
        HEAD + "<iframe src=about:blank></iframe><iframe srcdoc='<img src=x.png>'></iframe><img src='#x'>",
        HEAD + "<script>const a = '<img src=no.png>'; // import x from './y.js'\n</script>",
        HEAD + '<script type=application/json>{"import": "import \'./x.js\'"}</script>',
        HEAD + "<script type=text/template src=no.js><img src=no.png></script>",
        HEAD + "<script nomodule src=old.js></script>",
        HEAD + "<style>a{b:url(data:image/png;base64,AA)} c{d:url(#e)}</style><p style='mask:url(#f)'>",
        HEAD + "<noscript><img src=no.png></noscript><textarea><img src=no.png></textarea>",
        HEAD + "<!-- <script src=no.js></script> --><link rel=canonical href=/x><link href=no.css>",
        HEAD + "<link rel=stylesheet type=text/less href=no.less><style type=text/less>@import 'no'</style>",
        HEAD + "<link rel=preconnect href=https://a.com><input src=no.png><svg><use href='#a'/></svg>",
        HEAD + "<script type=module>console.log(import.meta.url, import(x))</script>",
        HEAD + "<embed src='data:text/plain,x'><object></object><base target=_blank>",
    ],
)
def test_a_document_without_references_is_unchanged(tmp_path: Path, text: str) -> None:
    bundle = _bundle(tmp_path, text)

    assert bundle.html == text
    assert bundle.files == (tmp_path / "view.html",)
    assert bundle_text(text, Csp()).html == text
    assert bundle_text(text, Csp()).files == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty, expected an HTML document"),
        ("\ufeff\n <!-- x -->", "is empty"),
        ('{"a": 1}', 'starts with `{"a": 1}`, expected `<!doctype html>`'),
        (
            "\n\n<html><body></body></html>",
            r"view\.html:3: starts with `<html><body></body></html>`, expected `<!doctype",
        ),
        ("<!doctype htm>", "expected `<!doctype html>`"),
        ('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "x">', "expected `<!doctype html>`"),
        ("<!-- never closed <!doctype html>", "is empty"),
    ],
)
def test_text_that_is_not_an_html5_document_raises(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        _bundle(tmp_path, text)


def test_a_file_that_is_not_utf_8_raises_with_the_line_of_the_invalid_byte(tmp_path: Path) -> None:
    (tmp_path / "view.html").write_bytes(b"<!doctype html>\n<p>caf\xe9")

    with pytest.raises(BundleError, match=r"view\.html:2: not UTF-8: byte 0xe9 at offset 22\. Save the file as UTF-8"):
        bundle_file(tmp_path / "view.html", Csp())


def test_a_missing_document_raises(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"view\.html: cannot be read: No such file"):
        bundle_file(tmp_path / "view.html", Csp())


def test_the_title_and_description_are_unescaped_and_folded() -> None:
    bundle = bundle_text(
        "<!doctype html><title>\n A &amp;\n B &lt;/i&gt; </title><title>no</title><svg><title>no</title></svg>"
        "<META NAME=Description CONTENT='x &amp;\n y'>",
        Csp(),
    )

    assert (bundle.title, bundle.description) == ("A & B </i>", "x & y")


def test_a_document_without_them_has_no_title_and_no_description() -> None:
    bundle = bundle_text("<!doctype html><svg><title>no</title></svg><title> </title>", Csp())

    assert (bundle.title, bundle.description) == (None, None)


# Scripts


def test_a_script_file_is_inlined_in_place_of_its_element(tmp_path: Path) -> None:
    text = "a<script id=x src=a.js integrity=sha256-x crossorigin></script>b"

    assert _body(tmp_path, text, a_js="let a;\n") == "a<script id=x>let a;\n</script>b"


def test_a_module_file_is_inlined_in_place_of_its_element(tmp_path: Path) -> None:
    text = "<SCRIPT Type=module async SRC='a.js?v=2'>ignored</SCRIPT >"

    assert _body(tmp_path, text, a_js="\ufefflet a") == "<script Type=module async>let a</script>"


@pytest.mark.parametrize("attribute", ["defer", "async", "async defer"])
def test_a_deferred_script_moves_to_the_end_of_the_body(tmp_path: Path, attribute: str) -> None:
    text = f"<body><script {attribute} src=a.js></script><script src=b.js></script><p>x</p></body></html>"

    found = _body(tmp_path, text, a_js="a", b_js="b")

    assert found == "<body><script>b</script><p>x</p><script>a</script></body></html>"


def test_deferred_scripts_keep_their_order(tmp_path: Path) -> None:
    text = "<script defer src=a.js></script><script defer src=b.js></script><p>"

    assert _body(tmp_path, text, a_js="a", b_js="b") == "<p><script>a</script><script>b</script>"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a = '</script>'", "a = '\\x3C/script>'"),
        ("a = `</SCRIPT ${b}<!--`", "a = `\\x3C/SCRIPT ${b}\\x3C!--`"),
        ("a = /<!--/", "a = /\\x3C!--/"),
        ("// <!-- </script>", "// \\x3C!-- \\x3C/script>"),
        ("a</script/.exec(b)", "a< /script/.exec(b)"),
        ("a = 1\n<!-- comment\nb", "a = 1\n//-- comment\nb"),
        ("a = '<script>'", "a = '<script>'"),
        ("it's broken </script>", "it's broken \\x3C/script>"),
    ],
)
def test_a_script_file_cannot_end_its_element(tmp_path: Path, script: str, expected: str) -> None:
    assert _body(tmp_path, "<script src=a.js></script>", a_js=script) == f"<script>{expected}</script>"


def test_in_a_module_an_html_comment_is_a_sequence_of_operators(tmp_path: Path) -> None:
    text = "<script type=module src=a.js></script>"

    assert _body(tmp_path, text, a_js="if (a<!--b) c") == "<script type=module>if (a< !--b) c</script>"


def test_a_tagged_template_that_ends_the_script_raises(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"a\.js:2: \"</script\" in a tagged template"):
        _bundle(tmp_path, HEAD + "<script src=a.js></script>", a_js="\nString.raw`</script>`")


def test_a_script_element_without_end_tag_raises(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"view\.html:3: this <script> has no </script>"):
        _bundle(tmp_path, HEAD + "<script src=a.js>", a_js="")


def test_a_script_file_in_svg_raises(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="Move the <script> out of the <svg>"):
        _bundle(tmp_path, HEAD + "<svg><script href=a.js></script></svg>", a_js="")


# Styles


def test_a_stylesheet_becomes_a_style_element_with_its_media(tmp_path: Path) -> None:
    text = "<link rel='stylesheet' id=x media=\"(min-width: 1px)\" href=a.css crossorigin type=text/css>"

    assert _body(tmp_path, text, a_css="a{}</style>") == ('<style id=x media="(min-width: 1px)">a{}<\\/style></style>')


def test_the_references_of_style_elements_and_attributes_are_inlined(tmp_path: Path) -> None:
    text = "<style>a{b:url(a.png)}</style><p class=x style='c:url(\"a.png\");d:e' id=y>"

    assert _body(tmp_path, text, a_png=b"png") == (
        f'<style>a{{b:url("{PNG}")}}</style><p class=x style="c:url(&quot;{PNG}&quot;);d:e" id=y>'
    )


def test_styles_in_svg_are_inlined(tmp_path: Path) -> None:
    text = "<svg><style>a{b:url(a.png)}</style><rect style='c:url(a.png)'/></svg>"

    assert _body(tmp_path, text, a_png=b"png").count(PNG) == 2


@pytest.mark.parametrize(
    ("opening", "closing"), [("<style>", "</style>"), ("<style> <![CDATA[", "]]></style>"), ("<style>", "</style\n>")]
)
def test_a_font_of_a_style_in_svg_is_loaded_by_a_script_after_it(tmp_path: Path, opening: str, closing: str) -> None:
    rule = "@font-face{font-family:A;src:url(a.woff2)}"

    found = _body(
        tmp_path, f"<svg>{opening}{rule}b{{}}{closing}<style/><image href=a.png /></svg>", a_woff2="f", a_png=""
    )

    assert found.startswith(f"<svg>{opening}b{{}}{closing}<script>(")
    assert found.endswith(');</script><style/><image href="data:image/png;base64," /></svg>')


def test_a_local_font_of_a_stylesheet_is_loaded_by_a_script_after_it(tmp_path: Path) -> None:
    found = _body(
        tmp_path, "<link rel=stylesheet href=a.css><p>", a_css="@font-face{font-family:A;src:url(a.woff2)}", a_woff2="f"
    )

    assert found.startswith("<style></style><script>(")
    assert found.endswith('[["A","Zg==",{}]]);</script><p>')


def test_a_stylesheet_that_needs_several_elements_keeps_its_media_on_each(tmp_path: Path) -> None:
    remote = "@import 'https://a.com/r.css';"
    csp = Csp(resource_domains=["https://a.com"])

    found = _body(
        tmp_path, "<link rel=stylesheet media=print href=a.css>", csp, a_css=f"@import 'b.css';{remote}", b_css="b{}"
    )

    assert found == f'<style media=print>b{{}}\n</style><style media="print">{remote}</style>'


@pytest.mark.parametrize("attributes", ["rel='alternate stylesheet'", "rel=stylesheet disabled"])
def test_a_disabled_or_alternate_stylesheet_raises(tmp_path: Path, attributes: str) -> None:
    with pytest.raises(BundleError, match="a disabled or alternate stylesheet cannot be inlined"):
        _bundle(tmp_path, HEAD + f"<link {attributes} href=a.css>", a_css="")


# Images, media and links


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<img alt=x src=a.png title=y>", '<img alt=x src="@" title=y>'),
        ("<IMG SRC = 'a.png'>", '<IMG SRC = "@">'),
        ("<img src='  a.png\n'>", '<img src="@">'),
        ("<img src='x/../a.png?b=1&amp;c=2'>", '<img src="@">'),
        ("<img src='%61.png'>", '<img src="@">'),
        ("<img src='.\\a.png'>", '<img src="@">'),
        ("<img srcset='a.png 1x, a.png 2x'>", '<img srcset="@ 1x, @ 2x">'),
        ("<img srcset='a.png, a.png 100w,a.png 2x'>", '<img srcset="@, @ 100w,@ 2x">'),
        (
            "<picture><source srcset=a.png><img src=a.png></picture>",
            '<picture><source srcset="@"><img src="@"></picture>',
        ),
        ("<video src=a.png poster=a.png></video>", '<video src="@" poster="@"></video>'),
        ("<audio><source src=a.png></audio>", '<audio><source src="@"></audio>'),
        ("<video><track src=a.png></video>", '<video><track src="@"></video>'),
        ("<input type=IMAGE src=a.png>", '<input type=IMAGE src="@">'),
        ("<image src=a.png>", '<image src="@">'),
        ("<svg><image href=a.png /></svg>", '<svg><image href="@" /></svg>'),
        ("<svg><image xlink:href=a.png></image></svg>", '<svg><image xlink:href="@"></image></svg>'),
        ("<svg><filter><feImage href='a.png'/></filter></svg>", '<svg><filter><feImage href="@"/></filter></svg>'),
        ("<link rel='shortcut icon' href=a.png>", "<link rel='shortcut icon' href=\"@\">"),
        ("<link rel=apple-touch-icon href=a.png>", '<link rel=apple-touch-icon href="@">'),
        ("<template><img src=a.png></template>", '<template><img src="@"></template>'),
        ("<link rel=preload as=image href=a.png>x", "x"),
        ("<link rel=modulepreload href=none.js>x", "x"),
        ("<link rel=preload as=image imagesrcset='none.png 2x'>x", "x"),
        ("<link rel=manifest href=none.json>x", "x"),
        ("<link rel=manifest href=https://a.com/none.json>x", "x"),
    ],
)
def test_an_image_or_media_file_becomes_a_data_uri(tmp_path: Path, before: str, after: str) -> None:
    assert _body(tmp_path, before, a_png=b"png") == after.replace("@", PNG)


def test_a_comma_without_a_space_is_part_of_a_url_in_a_srcset(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r'no file "a\.png,b\.png"'):
        _body(tmp_path, "<img srcset='a.png,b.png 2x'>", a_png=b"", b_png=b"")


def test_a_fragment_is_kept_and_cannot_end_the_attribute(tmp_path: Path) -> None:
    found = _body(tmp_path, "<img src='a.svg#x&quot;y'>", a_svg="<svg/>")

    assert found.endswith('#x%22y">')


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.svg", "image/svg+xml"),
        ("a.JPG", "image/jpeg"),
        ("a.webp", "image/webp"),
        ("a.avif", "image/avif"),
        ("a.mp4", "video/mp4"),
        ("a.vtt", "text/vtt"),
        ("a.ico", "image/x-icon"),
        ("a.tiff", "image/tiff"),
        ("a.unheard-of", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ],
)
def test_the_media_type_follows_from_the_suffix(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / name).write_bytes(b"")

    assert f'src="data:{expected};base64,"' in _body(tmp_path, f"<img src={name}>")


def test_a_file_above_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"png")
    (tmp_path / "views").mkdir()

    bundle = _bundle(tmp_path / "views", HEAD + "<img src=../a.png>")

    assert PNG in bundle.html
    assert bundle.files == (tmp_path / "views" / "view.html", tmp_path / "a.png")


def test_every_file_is_listed_once_and_the_document_is_first(tmp_path: Path) -> None:
    text = "<link rel=stylesheet href=a.css><script src=a.js></script><img src=a.png><img src=a.png>"

    bundle = _bundle(
        tmp_path, HEAD + text, a_css="@import 'b.css'", b_css="b{c:url(b.png)}", a_js="", a_png=b"", b_png=b""
    )

    names = [path.name for path in bundle.files]
    assert names == ["view.html", "a.css", "b.css", "b.png", "a.js", "a.png"]


# What is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<img\nalt=x\nsrc=lgo.png>", r'view\.html:5: there is no file "lgo.png" in .*\. Did you mean "logo.png"\?'),
        (
            "<img src=nothing-like-it.gif>",
            r'view\.html:3: there is no file "nothing-like-it.gif" in .*Correct the path',
        ),
        ("<img src=images/logo.png>", 'there is no folder ".*images" for "logo.png"'),
        ("<img src=folder>", 'folder" is a folder, expected a file'),
        ("<img src=/lgo.png>", '"/lgo.png" is an absolute path.*Write a relative path'),
        ("<img src=C:/logo.png>", "is an absolute path"),
        ("<img src=file:///logo.png>", "is an absolute path"),
        ("<img src=%00.png>", "cannot be read"),
        ("<p>\n<iframe src=a.html></iframe>", r"view\.html:4: <iframe src=\"a.html\"> is a separate document.*srcdoc"),
        ("<object data=a.svg></object>", "<object> is blocked by every host"),
        ("<embed src=https://a.com/x>", "<embed> is blocked by every host"),
        ("<svg><use href='a.svg#x'/></svg>", "browsers allow no data: URI here.*refer to its id"),
        ("<base href=assets/>", "is a local folder, and hosts cannot read local files. Remove it"),
        ("<p style='x:url(lgo.png)'>", r'view\.html:3: there is no file "lgo.png".*Did you mean "logo.png"\?'),
        ("<style>\na{b:url(lgo.png)}</style>", r'view\.html:4: there is no file "lgo.png"'),
        ("<img src=/>", "is an absolute path"),
        ("<img src=/folder>", "is an absolute path"),
        (f"<img src={'x' * 5000}.png>", r"view\.html:3: .*xxx\.\.\.\" cannot be read: File name too long"),
        (f"<link rel=stylesheet href={'x' * 5000}.css>", "cannot be read: File name too long"),
        (f"<img src={'x/' * 5000}>", "cannot be read: File name too long"),
        (f"<img src=/{'x' * 5000}.png>", "is an absolute path"),
        ("<img src=/dev/null>", "is an absolute path"),
        ("<img src=../../../../../../../../../../dev/zero>", 'zero" is a pipe, a socket or a device, expected a file'),
    ],
)
def test_an_invalid_reference_raises_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(BundleError, match=message):
        _bundle(tmp_path, HEAD + text, logo_png=b"")


@pytest.mark.parametrize(
    "text",
    [
        "<img src=pipe>",
        "<script src=pipe></script>",
        "<script type=module src=pipe.ts></script>",
        "<link rel=stylesheet href=pipe>",
        "<style>@import 'pipe';</style>",
        "<style>a{b:url(pipe)}</style>",
        "<style>@font-face{font-family:A;src:url(pipe) format('woff2')}</style>",
    ],
)
def test_a_pipe_raises_without_blocking(tmp_path: Path, text: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.ts")

    with pytest.raises(BundleError, match=r"view\.html:3: .*is a pipe, a socket or a device, expected a file"):
        _bundle(tmp_path, HEAD + text)


# Sizes


def test_a_document_over_the_size_limit_raises_with_the_position_of_the_reference(tmp_path: Path) -> None:
    image = b"x" * 10_000_000

    with pytest.raises(BundleError, match=r"view\.html:6: with this file, more than 50 MB are inlined into the View"):
        _bundle(tmp_path, HEAD + "<img src=a.png>\n" * 10_000, a_png=image)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<img src=a.png>", "view.html:3"),
        ("<p>\n<script src=a.js></script>", "view.html:4"),
        ("<link rel=stylesheet href=a.css>", "view.html:3"),
        ("<style>\n@import 'a.css';</style>", "view.html:4"),
        ("<style>@font-face{font-family:A;src:url(a.woff2)}</style>", "view.html:3"),
        ("<style>a{b:url(b.png);c:url(b.png);d:url(b.png)}</style>", "view.html:3"),
        ("<style>@import 'b.css';@import 'b.css';\n@import 'b.css';</style>", "view.html:4"),
    ],
)
def test_every_kind_of_file_counts_towards_the_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setattr(reference, "MAX_SIZE", 1000)
    large, half = "x" * 1001, "x" * 350

    with pytest.raises(BundleError, match=rf"{message}: with this file, more than 0\.001 MB are inlined"):
        _bundle(tmp_path, HEAD + text, a_png=large, a_js=large, a_css=large, a_woff2=large, b_png=half, b_css=half)


def test_a_document_without_inlined_files_has_no_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "MAX_SIZE", 10)
    text = HEAD + "<p>" * 100

    assert bundle_text(text, Csp()).html == text


# Paths from the root, as Vite has them


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<img src=/images/a.png>", '<img src="@">'),
        ("<img src='/images/a.png?v=1'>", '<img src="@">'),
        ("<p style='b:url(/images/a.png)'>", '<p style="b:url(&quot;@&quot;)">'),
        ("<script src=/a.js></script>", "<script>a</script>"),
        ("<link rel=stylesheet href=/css/a.css>", '<style>a{b:url("@")}</style>'),
    ],
)
def test_a_path_with_a_leading_slash_is_in_the_folder_of_the_document(tmp_path: Path, before: str, after: str) -> None:
    for folder in ("images", "css"):
        (tmp_path / folder).mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"png")
    (tmp_path / "css" / "a.css").write_text("a{b:url(/images/a.png)}")

    assert _body(tmp_path, before, a_js="a") == after.replace("@", PNG)


def test_a_path_with_a_leading_slash_raises_in_a_string() -> None:
    with pytest.raises(BundleError, match=r'"/a\.png" is an absolute path'):
        bundle_text(HEAD + "<img src=/a.png>", Csp())


# Documents that a bundler built


BUILT = HEAD + (
    '<script type="module" crossorigin>x</script>\n'
    '<style rel="stylesheet" crossorigin>a{b:url(images/x.svg)} c{d:image-set("y.png" 1x),url(/z.png)}</style>\n'
    "<p style='e:url(w.png)'>"
)


def test_missing_images_are_ignored_in_the_output_of_a_bundler(tmp_path: Path) -> None:
    bundle = _bundle(tmp_path, BUILT)

    assert bundle.html == BUILT
    assert bundle.files == (tmp_path / "view.html",)
    assert bundle_text(BUILT, Csp()).html == BUILT


@pytest.mark.parametrize("sign", ["<style rel=stylesheet></style>", "<script crossorigin>x</script>"])
def test_the_output_of_a_bundler_is_detected_by_attributes_anywhere(tmp_path: Path, sign: str) -> None:
    text = f"<p style='a:url(none.png)'>{sign}"

    assert _body(tmp_path, text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<img src=none.png>", 'no file "none.png"'),
        ("<style>@import 'none.css';</style>", 'no file "none.css"'),
        ("<style>@font-face{font-family:A;src:url(none.woff2)}</style>", 'no file "none.woff2"'),
        ("<style>a{b:url(https://a.com/x.png)}</style>", "is not in the resource_domains"),
        ("<style>a{b:url(file:///x.png)}</style>", "is an absolute path"),
        ("<link rel=stylesheet href=a.css>", r'a\.css:2: there is no file "none.png"'),
    ],
)
def test_other_missing_files_raise_in_the_output_of_a_bundler(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        _bundle(tmp_path, BUILT + text, a_css="\na{b:url(none.png)}")


def test_an_existing_image_is_inlined_in_the_output_of_a_bundler(tmp_path: Path) -> None:
    assert PNG in _bundle(tmp_path, BUILT, w_png=b"png").html


def test_the_error_for_a_missing_image_has_advice_for_the_output_of_a_bundler(tmp_path: Path) -> None:
    text = BUILT.replace(" crossorigin", "").replace(' rel="stylesheet"', "")

    with pytest.raises(BundleError, match=r'view\.html:4: there is no folder .*give the <style> .* rel="stylesheet"'):
        _bundle(tmp_path, text)


REMOTE = {
    "<script src=https://cdn.example.com/a.js></script>": "resource_domains",
    "<script type=module src=https://cdn.example.com/a.js></script>": "resource_domains",
    "<script type=module>import 'https://cdn.example.com/a.js'</script>": "resource_domains",
    "<script>import('https://cdn.example.com/a.js')</script>": "resource_domains",
    "<link rel=stylesheet href=https://cdn.example.com/a.css>": "resource_domains",
    "<link rel=icon href=//cdn.example.com/a.png>": "resource_domains",
    "<link rel=preload as=script href=https://cdn.example.com/a.js>": "resource_domains",
    "<img src=https://cdn.example.com/a.png>": "resource_domains",
    "<img src=//cdn.example.com/a.png>": "resource_domains",
    "<img srcset='https://cdn.example.com/a.png 2x'>": "resource_domains",
    "<video poster=https://cdn.example.com/a.png></video>": "resource_domains",
    "<style>a{b:url(https://cdn.example.com/a.png)}</style>": "resource_domains",
    "<style>@import 'https://cdn.example.com/a.css';</style>": "resource_domains",
    "<style>@font-face{font-family:x;src:url(https://cdn.example.com/a.woff2)}</style>": "resource_domains",
    "<p style='a:url(https://cdn.example.com/a.png)'>": "resource_domains",
    "<svg><image href='https://cdn.example.com/a.png'/></svg>": "resource_domains",
    "<iframe src=https://cdn.example.com/a.html></iframe>": "frame_domains",
    "<base href=https://cdn.example.com/>": "base_uri_domains",
}


@pytest.mark.parametrize(("text", "domains"), REMOTE.items())
def test_a_declared_url_is_kept_and_any_other_raises_with_the_declaration_to_write(
    tmp_path: Path, text: str, domains: str
) -> None:
    declared = Csp(**{domains: ["https://cdn.example.com"]})
    others = {"resource_domains", "frame_domains", "base_uri_domains", "connect_domains"} - {domains}
    undeclared = Csp(**{name: ["https://cdn.example.com"] for name in others})

    assert _body(tmp_path, text, declared) == text
    with pytest.raises(BundleError) as caught:
        _body(tmp_path, text, undeclared)
    assert caught.value.line == 3
    assert f'Csp({domains}=["https://cdn.example.com"])' in str(caught.value)


def test_a_relative_path_after_a_base_is_a_url(tmp_path: Path) -> None:
    text = "<base href=https://cdn.example.com/x/><img src=a.png><script type=module>import './a.js'</script>"
    csp = Csp(base_uri_domains=["https://cdn.example.com"])

    with pytest.raises(BundleError, match=r'"https://cdn\.example\.com/x/a\.png" is not in the resource_domains'):
        _body(tmp_path, text, csp)

    both = Csp(base_uri_domains=["https://cdn.example.com"], resource_domains=["https://cdn.example.com"])
    assert _body(tmp_path, text, both) == text


@pytest.mark.parametrize("text", ["<img src='https://'>", "<img src='https://a.com:99999/'>"])
def test_an_invalid_url_raises(tmp_path: Path, text: str) -> None:
    with pytest.raises(BundleError, match="is not a valid URL"):
        _body(tmp_path, text)


@pytest.mark.parametrize(
    "text", ["<img src=a.png>", "<script src=a.js></script>", "<style>@import 'a.css';</style>", "<p style='a:url(b)'>"]
)
def test_a_relative_path_in_a_string_raises(text: str) -> None:
    with pytest.raises(BundleError, match=r"View\.html\(\.\.\.\):3: .* a View that is a string has no folder"):
        bundle_text(HEAD + text, Csp())


def test_half_of_a_surrogate_pair_raises_with_its_line() -> None:
    with pytest.raises(BundleError, match=r"View\.html\(\.\.\.\):4: contains U\+D83D, half of a surrogate pair"):
        bundle_text(HEAD + "<p>\n\ud83d", Csp())


def test_the_name_of_a_string_is_in_its_errors() -> None:
    with pytest.raises(BundleError, match=r"^make_clock\(\):1: starts with"):
        bundle_text("x", Csp(), name="make_clock()")
