"""Module scripts: imports of the View SDK, bundling with esbuild, and errors."""

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fanlight import browser
from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError
from fanlight.server.bundle import Bundle, bundle_file, bundle_text, esbuild

HEAD = "<!doctype html>\n"
PLAIN = 'globalThis[Symbol.for("fanlight")]'
SDK = 'globalThis[Symbol.for("fanlight/theme")]'
PACKAGE = "@modelcontextprotocol/ext-apps"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder in which the esbuild of this project is found."""
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    return tmp_path


@pytest.fixture
def no_esbuild(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


def _bundle(folder: Path, body: str, csp: Csp | None = None, **files: str) -> Bundle:
    """Write a document and further files, in whose names `_` stands for `.`, and bundle them."""
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    (folder / "view.html").write_text(HEAD + body)
    return bundle_file(folder / "view.html", csp or Csp())


def _module(script: str) -> str:
    """Return the bundled text of a module script, without the SDK."""
    html = bundle_text(f"{HEAD}<script type=module>{script}</script>", Csp()).html
    return html[html.index("<script type=module>") + len("<script type=module>") : -len("</script>")]


# The View SDK


@pytest.mark.parametrize("package", [PACKAGE, f"{PACKAGE}/app-with-deps"])
def test_the_sdk_comes_before_the_script_that_imports_it(package: str) -> None:
    text = f'{HEAD}<p>\n<script type=module>import {{ App }} from "{package}";\nnew App();</script>'

    html = bundle_text(text, Csp()).html

    assert html == (
        f"{HEAD}<p>\n<script>{browser.view_sdk()}</script>"
        f"<script type=module>const {{App}} = {PLAIN}; ;\nnew App();</script>"
    )


def test_what_follows_the_look_of_the_host_is_inlined_only_for_the_specifier_fanlight() -> None:
    themed = f'{HEAD}<script type=module>import {{ App }} from "fanlight";</script>'
    plain = themed.replace('"fanlight"', f'"{PACKAGE}"')

    assert bundle_text(themed, Csp()).html == (
        f"{HEAD}<script>{browser.view_sdk()}\n{browser.themed_sdk()}</script>"
        f"<script type=module>const {{App}} = {SDK}; ;</script>"
    )
    assert browser.themed_sdk() not in bundle_text(plain, Csp()).html


def test_what_moves_files_is_inlined_only_where_it_is_imported() -> None:
    imports = f'import {{ App }} from "{PACKAGE}"; import {{ upload }} from "fanlight/files";'
    text = f"{HEAD}<script type=module>{imports}</script>"

    html = bundle_text(text, Csp()).html

    assert html.startswith(f"{HEAD}<script>{browser.view_sdk()}\n{browser.files_sdk()}</script>")
    assert f'const {{App}} = {PLAIN}; const {{upload}} = globalThis[Symbol.for("fanlight/files")]; ; ;' in html
    with pytest.raises(BundleError, match=r'"fanlight/files" has no export "uploads"\. Did you mean "upload"'):
        bundle_text(text.replace("{ upload }", "{ uploads }"), Csp())


def test_a_module_of_the_sdk_that_a_later_script_imports_is_there_before_the_first() -> None:
    scripts = "".join(f'<script type=module>import "{name}"</script>' for name in (PACKAGE, "fanlight"))

    html = bundle_text(HEAD + scripts, Csp()).html

    assert html.startswith(f"{HEAD}<script>{browser.view_sdk()}\n{browser.themed_sdk()}</script><script type=module>")
    assert html.count("<script>") == 1


def test_the_sdk_is_inlined_once_for_several_scripts() -> None:
    script = f'<script type=module>import {{ App }} from "{PACKAGE}"</script>'

    html = bundle_text(f"{HEAD}<script>first</script>{script}<p>{script}", Csp()).html

    assert html.count(browser.view_sdk()) == 1
    assert html.startswith(f"{HEAD}<script>first</script><script>{browser.view_sdk()}</script>")


def test_the_sdk_is_not_inlined_where_it_is_not_imported() -> None:
    assert browser.view_sdk() not in bundle_text(f"{HEAD}<script type=module>'{PACKAGE}'</script>", Csp()).html


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('import { App } from "fanlight";', f"const {{App}} = {SDK}; ;"),
        ('import { App as A } from "fanlight"', f"const {{App: A}} = {SDK}; ;"),
        ('import { "App" as A } from "fanlight"', f"const {{App: A}} = {SDK}; ;"),
        ('import * as sdk from "fanlight"', f"const sdk = {SDK}; ;"),
        ('import "fanlight"', ";"),
        ('import {} from "fanlight"', ";"),
        ('\nimport {\n  App,\n} from "fanlight";\nx', f"const {{App}} = {SDK}; \n;\n\n\nx"),
        ('import {\r\n App } from "fanlight"\r\nx', f"const {{App}} = {SDK}; ;\r\n\r\nx"),
        ('new App();\nimport { App } from "fanlight"', f"const {{App}} = {SDK}; new App();\n;"),
        ('a()\nimport "fanlight"\n(b)()', "a()\n;\n(b)()"),
        ('await import("fanlight")', f"await Promise.resolve({SDK})"),
        ('await import(\n"fanlight"\n)', f"await Promise.resolve({SDK}\n\n)"),
        ("'import \"fanlight\"'; import 'fanlight'", "'import \"fanlight\"'; ;"),
    ],
)
def test_imports_of_the_sdk_become_constants_and_line_numbers_do_not_change(before: str, after: str) -> None:
    assert _module(before) == after
    assert after.count("\n") == before.count("\n")


def test_a_module_file_may_import_the_sdk(tmp_path: Path) -> None:
    bundle = _bundle(
        tmp_path, "<script type=module src=app.js></script>", app_js='import { App } from "fanlight"; "</script>"'
    )

    assert bundle.html.endswith(f'<script type=module>const {{App}} = {SDK}; ; "\\x3C/script>"</script>')
    assert bundle.files == (tmp_path / "view.html", tmp_path / "app.js")


def test_a_classic_script_may_import_the_sdk_dynamically() -> None:
    html = bundle_text(HEAD + "<script>import('fanlight').then(f)</script>", Csp()).html

    assert html.endswith(f"</script><script>Promise.resolve({SDK}).then(f)</script>")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('import App from "fanlight"', '"fanlight" has no default export. Write import { App } from "fanlight"'),
        ('import { default as App } from "fanlight"', '"fanlight" has no default export'),
        ('import { app } from "fanlight"', '"fanlight" has no export "app". Did you mean "App"'),
        ('import { Qqqqqqqq } from "fanlight"', '"fanlight" has no export "Qqqqqqqq". It has: App'),
        ('export { App } from "fanlight"', "has no effect in a View"),
        ('import("fanlight", {})', "cannot have options here"),
        (f'import x from "{PACKAGE}/server"', f'the import "{PACKAGE}/server" is not in the View SDK'),
        (f'import {{ useApp }} from "{PACKAGE}/react"', "needs the React in your folder, and a View that is a string"),
        ('import x from "/x.js"', 'the import "/x.js" is an absolute path'),
        ('import "./x.js"', "a View that is a string has none. Save the View as an .html file"),
        ('import "three"', "a View that is a string has none"),
    ],
)
def test_an_invalid_import_raises_with_its_line(statement: str, message: str) -> None:
    with pytest.raises(BundleError) as caught:
        _module(f"\n\n{statement}")

    assert caught.value.line == 4
    assert message in str(caught.value)


def test_a_script_whose_imports_cannot_be_found_raises_with_file_and_line(tmp_path: Path) -> None:
    script = f"const a = 1;\nconst b = 'oops;\nimport {{ App }} from '{PACKAGE}';"

    with pytest.raises(BundleError, match=r"view\.html:3: the string that begins here does not end on its line, so"):
        _bundle(tmp_path, f"<script type=module>{script}</script>")
    with pytest.raises(BundleError, match=r"main\.js:2: the string .* bundle the script with esbuild"):
        _bundle(tmp_path, '<script type=module src="main.js"></script>', main_js=script)


def test_a_script_that_cannot_be_read_and_imports_nothing_is_unchanged() -> None:
    assert _module("const a = 'oops;\nimport.meta.url") == "const a = 'oops;\nimport.meta.url"


def test_a_static_import_in_a_classic_script_raises(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r'only a module can import. Write <script type="module">'):
        _bundle(tmp_path, '<script>\nimport { App } from "fanlight"</script>')


def test_a_file_imported_by_a_classic_script_raises(folder: Path) -> None:
    with pytest.raises(BundleError, match=r'view\.html:3: a script that is not a module imports "./a.js"'):
        _bundle(folder, '<script>\nimport("./a.js")</script>', a_js="")


# Import maps


def test_an_import_map_to_declared_domains_and_the_imports_it_maps_are_unchanged() -> None:
    text = (
        f'{HEAD}<script type=importmap>{{"imports": {{"three": "https://a.com/three.js", '
        f'"three/": "https://a.com/three/", "{PACKAGE}": "./own.js"}}}}</script>'
        "<script type=module>import 'three'; import 'three/addons/x.js'</script>"
    )

    assert bundle_text(text, Csp(resource_domains=["https://a.com"])).html == text


def test_an_import_map_does_not_replace_the_sdk() -> None:
    text = (
        f'{HEAD}<script type=importmap>{{"imports": {{"{PACKAGE}": "https://a.com/sdk.js"}}}}</script>'
        f"<script type=module>import '{PACKAGE}'</script>"
    )

    assert browser.view_sdk() in bundle_text(text, Csp()).html


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"imports":\n{"x": "./x.js"}}', ':3: the import map sends "x" to "./x.js", expected an https URL'),
        ('{"imports": {"x": null}}', 'sends "x" to null'),
        ('{"scopes": {"a": {"x": "/x.js"}}}', 'sends "x" to "/x.js"'),
        ('{"imports": {"x": "https://b.com/x.js"}}', 'Csp(resource_domains=["https://b.com"])'),
        ("{imports}", "the import map is not valid"),
        ("[]", "the import map is not valid"),
        ('{"imports": 1}', "the import map is not valid"),
    ],
)
def test_an_invalid_import_map_raises(content: str, message: str) -> None:
    with pytest.raises(BundleError) as caught:
        bundle_text(f"{HEAD}<script type=importmap>{content}</script>", Csp())

    assert message in str(caught.value)


# esbuild


@pytest.mark.process
def test_modules_that_import_each_other_become_one(folder: Path) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "b.js").write_text('import { c } from "../c.js"; export const b = c + "</script>";')

    bundle = _bundle(
        folder,
        "<script type=module src=a.js></script>",
        a_js='import { App } from "fanlight"; import { b } from "./lib/b.js"; console.log(App, b);',
        c_js='import { App } from "@modelcontextprotocol/ext-apps"; export const c = App.name;',
    )

    script = bundle.html.rpartition("<script type=module>")[2]
    assert "import" not in script
    assert script.count("</script") == 1
    assert script.count(SDK) == script.count(PLAIN) == 1
    assert bundle.html.count(browser.view_sdk()) == 1
    assert bundle.files[0] == folder / "view.html"
    assert set(bundle.files[1:]) == {folder / "a.js", folder / "c.js", folder / "lib" / "b.js"}


@pytest.mark.process
def test_a_script_in_the_document_may_import_files_and_packages(folder: Path) -> None:
    bundle = _bundle(
        folder,
        '<script type=module>import { b } from "./b.js"; import ms from "ms"; console.log(ms(b))</script>',
        b_js="export const b = 'the letter';",
    )

    assert "the letter" in bundle.html
    assert 'from "' not in bundle.html
    assert bundle.files[:2] == (folder / "view.html", folder / "b.js")
    assert [path.name for path in bundle.files[2:]] == ["index.js"]
    assert all(path.is_file() for path in bundle.files)


@pytest.mark.process
def test_typescript_and_jsx_files_are_compiled(folder: Path) -> None:
    bundle = _bundle(
        folder,
        "<script type=module src=a.ts></script><script src=b.tsx></script>",
        a_ts='import { App, type Thing } from "fanlight"; const a: Thing = new App({} as any);',
        b_tsx="const h = (x: string) => x; /* @jsx h */ console.log(<b/>);",
    )

    scripts = bundle.html.split("<script")[2:]
    assert scripts[0].startswith(f" type=module>const {{App}} = {SDK}; ")
    assert "Thing" not in bundle.html.replace(browser.view_sdk(), "")
    assert scripts[1].startswith(">")
    assert 'h("b", null)' in scripts[1]
    assert [path.name for path in bundle.files] == ["view.html", "a.ts", "b.tsx"]


@pytest.mark.process
def test_an_image_that_a_module_imports_becomes_a_data_uri(folder: Path) -> None:
    bundle = _bundle(
        folder, '<script type=module>import a from "./a.svg"; console.log(a)</script>', a_svg="<svg></svg>"
    )

    assert "data:image/svg+xml" in bundle.html
    assert bundle.files[1] == folder / "a.svg"


@pytest.mark.process
def test_a_dynamically_imported_module_is_bundled(folder: Path) -> None:
    bundle = _bundle(folder, '<script type=module>await import("./a.js")</script>', a_js="console.log('here')")

    assert "here" in bundle.html
    assert 'import("./a.js")' not in bundle.html


@pytest.mark.process
def test_imported_stylesheets_come_before_the_script_in_import_order(folder: Path) -> None:
    bundle = _bundle(
        folder,
        "<script type=module src=/a.ts></script>",
        a_ts='import { App } from "fanlight"; import "./a.css"; import "./b"; import "./c.css"; console.log(App);',
        b_ts='import "./b.css"; import "./a.css"; console.log("b");',
        a_css="a{}</style>",
        b_css='@import "d.css"; b{c:url(e.png)}',
        c_css="c{}",
        d_css="d{}",
        e_png="png",
    )

    styles, _, rest = bundle.html.removeprefix(HEAD).partition("<script>")
    assert "".join(styles.split()) == (
        '<style>a{}<\\/style></style><style>d{}b{c:url("data:image/png;base64,cG5n")}</style><style>c{}</style>'
    )
    assert rest.startswith(browser.view_sdk())
    assert "css" not in rest.removeprefix(f"{browser.view_sdk()}\n{browser.themed_sdk()}")
    names = {path.name for path in bundle.files}
    assert names == {"view.html", "a.ts", "b.ts", "a.css", "b.css", "c.css", "d.css", "e.png"}
    assert all(path.is_file() for path in bundle.files)


@pytest.mark.process
def test_a_script_in_the_document_may_import_a_stylesheet_with_fonts(folder: Path) -> None:
    html = _bundle(
        folder,
        '<p>\n<script type=module>import "./a.css"; x()</script>',
        a_css="@font-face{font-family:A;src:url(a.woff2)} a{}",
        a_woff2="f",
    ).html

    assert html.startswith(f"{HEAD}<p>\n<style> a{{}}</style><script>(")
    assert html.index('[["A","Zg==",{}]]);</script><script type=module>') > 0


@pytest.mark.process
def test_a_stylesheet_of_a_deferred_script_stays_in_the_original_position(folder: Path) -> None:
    html = _bundle(
        folder, "<script defer src=a.ts></script><p></p></body>", a_ts='import "./a.css"; x()', a_css="a{}"
    ).html

    assert html.startswith(f"{HEAD}<style>a{{}}</style><p></p><script>")


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ("a{}\na{b:url(none.png)}", r'lib/a\.css:2: there is no file "none.png"'),
        ("a{}\na{b:url(https://a.com/x)}", r'lib/a\.css:2: .*Csp\(resource_domains=\["https://a.com"\]\)'),
        ("\n@import 'none.css';", r'lib/a\.css:2: there is no file "none.css"'),
        ("a{}\n\n@font-face{font-family:A;src:url(a.eot)}", r"lib/a\.css:3: no source of this @font-face is"),
    ],
)
@pytest.mark.process
def test_an_error_in_a_stylesheet_that_a_module_imports_has_its_file_and_line(
    folder: Path, sheet: str, message: str
) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "a.css").write_text(sheet)

    with pytest.raises(BundleError, match=message):
        _bundle(folder, '<script type=module>import "./a.js"</script>', a_js='import "./lib/a.css"')


@pytest.mark.parametrize("specifier", ["./a.module.css", "./a.css?inline"])
@pytest.mark.process
def test_a_stylesheet_imported_as_a_value_raises_with_the_position_of_the_import(folder: Path, specifier: str) -> None:
    with pytest.raises(BundleError, match=r'b\.ts:3: the import "\./a\..*" needs a value') as caught:
        _bundle(
            folder,
            '<script type=module>import "./b.ts"</script>',
            a_css="a{}",
            a_module_css=".a{}",
            b_ts=f"// see {specifier}\n\nimport a from '{specifier}'; console.log(a)",
        )

    assert caught.value.path == folder / "b.ts"


@pytest.mark.process
def test_a_missing_stylesheet_is_reported_in_the_importing_module(folder: Path) -> None:
    with pytest.raises(BundleError, match=r'a\.ts:2: esbuild: Could not resolve "\./none\.css"'):
        _bundle(folder, "<script type=module src=/a.ts></script>", a_ts='\nimport "./none.css"')


@pytest.mark.parametrize("module", ["fs", "fs/promises", "node:path", "child_process"])
@pytest.mark.process
def test_a_module_of_node_raises(folder: Path, module: str) -> None:
    with pytest.raises(
        BundleError, match=rf'view\.html:3: .*"{module}" is a module of Node, .* in a browser'
    ) as caught:
        _bundle(folder, f'<script type=module>\nimport x from "{module}"; x()</script>')

    assert "npm install" not in str(caught.value)


@pytest.mark.usefixtures("no_esbuild")
def test_a_module_of_node_raises_without_esbuild(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r'view\.html:2: "fs" is a module of Node, and a View runs in a browser\.'):
        _bundle(tmp_path, '<script type=module>import fs from "fs"</script>')


@pytest.mark.parametrize("specifier", ["\\ud800", "\\u0000"])
@pytest.mark.process
def test_a_specifier_that_cannot_be_a_command_line_argument_raises(folder: Path, specifier: str) -> None:
    body = (
        f'<script type=importmap>{{"imports": {{"{specifier}": "https://a.com/t.js"}}}}</script>'
        '<script type=module>import "./a.js"</script>'
    )

    with pytest.raises(BundleError, match="could not be started"):
        _bundle(folder, body, Csp(resource_domains=["https://a.com"]), a_js="")


@pytest.mark.process
def test_a_url_imported_by_a_bundled_module_is_checked(folder: Path) -> None:
    script = "\n\nimport x from 'https://a.com/x.js'; console.log(x)"
    body = '<script type=module>import "./a.js"</script>'

    with pytest.raises(BundleError, match=r'a\.js:3: .*Csp\(resource_domains=\["https://a.com"\]\)'):
        _bundle(folder, body, a_js=script)
    assert "https://a.com/x.js" in _bundle(folder, body, Csp(resource_domains=["https://a.com"]), a_js=script).html


@pytest.mark.process
def test_mapped_specifiers_are_external_for_esbuild(folder: Path) -> None:
    body = (
        '<script type=importmap>{"imports": {"three": "https://a.com/t.js", "x/": "https://a.com/x/"}}</script>'
        '<script type=module>import "./a.js"</script>'
    )

    html = _bundle(folder, body, Csp(resource_domains=["https://a.com"]), a_js='import "three"; import "x/y.js"').html

    assert 'import "three"' in html
    assert 'import "x/y.js"' in html


@pytest.mark.process
def test_an_unknown_export_of_the_sdk_is_reported_in_the_importing_module(folder: Path) -> None:
    with pytest.raises(BundleError, match=r'b\.js:2: "fanlight" has no export "app"\. Did you mean "App"'):
        _bundle(
            folder,
            '<script type=module>import "fanlight"; import "./b.js"</script>',
            b_js='\nimport { app } from "fanlight"; app();',
        )


@pytest.mark.process
def test_an_error_of_esbuild_has_the_file_and_line_of_the_module(folder: Path) -> None:
    with pytest.raises(BundleError, match=r"b\.js:3: esbuild: Cannot use \"let\" as an identifier here\.") as caught:
        _bundle(folder, '<script type=module>import "./b.js"</script>', b_js="\n\nlet let let")

    assert caught.value.path == folder / "b.js"


@pytest.mark.process
def test_an_error_of_esbuild_in_the_document_has_the_line_of_the_document(folder: Path) -> None:
    with pytest.raises(BundleError, match=r'view\.html:4: esbuild: Could not resolve "\./none\.js"') as caught:
        _bundle(folder, '<p>\n<script type=module>\nimport "./none.js"</script>')

    assert caught.value.path == folder / "view.html"


@pytest.mark.process
def test_a_missing_package_is_reported_with_the_command_that_installs_it(folder: Path) -> None:
    with pytest.raises(BundleError, match=r"view\.html:2: .*Install it with `npm install @no/such`"):
        _bundle(folder, '<script type=module>import "@no/such/thing.js"</script>')


@pytest.mark.process
def test_a_module_that_is_not_in_the_sdk_raises_in_a_bundled_module(folder: Path) -> None:
    with pytest.raises(BundleError, match=r'a\.js:2: the import ".*/server" is not in the View SDK'):
        _bundle(
            folder,
            '<script type=module>import "./a.js"</script>',
            a_js=f'\nimport {{ registerAppTool }} from "{PACKAGE}/server"; registerAppTool()',
        )


# The hooks for React


def _fake_react(folder: Path, name: str) -> None:
    """Put a React into node_modules that can be told from others."""
    react = folder / "node_modules" / "react"
    react.mkdir(parents=True)
    hooks = "".join(f'export const {hook} = () => "{name}";' for hook in ("useEffect", "useRef", "useState"))
    (react / "index.js").write_text(hooks)


@pytest.mark.process
@pytest.mark.parametrize(
    ("specifier", "sdk"),
    [(f"{PACKAGE}/react", PLAIN), (f"{PACKAGE}/react-with-deps", PLAIN), ("fanlight/react", SDK)],
)
def test_the_hooks_are_bundled_with_one_sdk(specifier: str, sdk: str, folder: Path) -> None:
    """Also if the core is imported beside them, and though the published package may be installed."""
    script = f'import {{ App as A, useApp }} from "{specifier}"; import {{ App as B }} from "{PACKAGE}"; useApp(A, B);'

    made = _bundle(folder, f"<script type=module>{script}</script>")

    assert made.html.count('const LATEST_PROTOCOL_VERSION="') == 1
    assert "McpUiHostContextSchema" not in made.html
    assert "var useApp = (" in made.html
    assert "useHostFonts" not in made.html  # not used
    assert re.search(rf"const {{App[^}}]*}} = {re.escape(sdk)};", made.html)
    assert not [path for path in made.files if "ext-apps" in str(path)]


@pytest.mark.process
def test_the_same_files_make_the_same_document_with_hooks(folder: Path) -> None:
    body = '<script type=module>(await import("fanlight/react")).useApp()</script>'
    assert _bundle(folder, body).html == _bundle(folder, body).html


@pytest.mark.process
def test_the_hooks_use_the_react_of_the_author(tmp_path: Path) -> None:
    """Goes red if they look for React from where they are: a View with two Reacts cannot call hooks."""
    _fake_react(tmp_path, "outer")
    (tmp_path / "node_modules" / ".bin").mkdir()
    (tmp_path / "node_modules" / ".bin" / "esbuild").symlink_to(ROOT / "node_modules" / ".bin" / "esbuild")
    folder = tmp_path / "ui"
    _fake_react(folder, "inner")
    script = 'import { useApp } from "fanlight/react"; import { useState } from "react"; useApp(useState);'

    html = _bundle(folder, f"<script type=module>{script}</script>").html

    assert html.count('var useState = () => "inner"') == 1
    assert '"outer"' not in html

    # Preact's build of the same hooks, as its documentation says.
    (folder / "tsconfig.json").write_text('{"compilerOptions": {"paths": {"react": ["./compat.js"]}}}')
    compat = (folder / "node_modules/react/index.js").read_text().replace("inner", "compat")
    html = _bundle(folder, f"<script type=module>{script}</script>", compat_js=compat).html
    assert html.count('var useState = () => "compat"') == 1
    assert '"inner"' not in html


@pytest.mark.process
def test_an_import_map_may_send_react_to_a_declared_domain(folder: Path) -> None:
    url = "https://esm.example/react"
    body = (
        f'<script type=importmap>{{"imports": {{"react": "{url}"}}}}</script>'
        '<script type=module>import { useApp } from "fanlight/react"; useApp();</script>'
    )

    html = _bundle(folder, body, Csp(resource_domains=["https://esm.example"])).html

    assert re.search(r'import \{[^}]*useState[^}]*\} from "react"', html)


@pytest.mark.process
def test_a_hook_that_does_not_exist_raises_with_its_line(folder: Path) -> None:
    message = rf'a\.js:2: "{PACKAGE}/react" has no export "useHostStyle"\. Did you mean "useHostStyles"'
    with pytest.raises(BundleError, match=message):
        _bundle(
            folder,
            '<script type=module>import "./a.js"</script>',
            a_js=f'\nimport {{ useHostStyle }} from "{PACKAGE}/react"; useHostStyle()',
        )


@pytest.mark.process
def test_hooks_without_react_raise_with_the_install_command(tmp_path: Path) -> None:
    (tmp_path / "node_modules" / ".bin").mkdir(parents=True)
    (tmp_path / "node_modules" / ".bin" / "esbuild").symlink_to(ROOT / "node_modules" / ".bin" / "esbuild")
    message = r'view\.html:3: esbuild: Could not resolve "react"\. Install it with `npm install react`\.$'
    with pytest.raises(BundleError, match=message):
        _bundle(tmp_path, '\n<script type=module>import { useApp } from "fanlight/react"; useApp()</script>')


@pytest.mark.usefixtures("no_esbuild")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('import "./b.js"', 'the script imports the file "./b.js".*npm install --save-dev esbuild`.*PATH.*Vite'),
        ('import "three/x.js"', 'the script imports the package "three".*npm install --save-dev three esbuild`'),
        ('import "@a/b"', 'the script imports the package "@a/b".*npm install --save-dev @a/b esbuild`'),
        ('import "fanlight/react"', 'the script imports the hooks of "fanlight/react".*react react-dom esbuild`'),
    ],
)
def test_without_esbuild_the_error_has_the_import_and_the_install_command(
    tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises(BundleError, match=rf"view\.html:3: {message}"):
        _bundle(tmp_path, f"<script type=module>\n{body}</script>", b_js="")


@pytest.mark.usefixtures("no_esbuild")
def test_typescript_raises_without_esbuild(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r'a\.ts:1: "a.ts" is not plain JavaScript.*esbuild'):
        _bundle(tmp_path, "<script type=module src=a.ts></script>", a_ts="let a: 1")


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_nearest_esbuild_has_precedence_over_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "project" / "views"
    inner.mkdir(parents=True)
    on_path = _program(tmp_path / "bin" / "esbuild", "")
    monkeypatch.setenv("PATH", str(on_path.parent))

    assert esbuild.find_esbuild(inner) == str(on_path)
    nearest = _program(tmp_path / "project" / "node_modules" / ".bin" / "esbuild", "")
    assert esbuild.find_esbuild(inner) == str(nearest)


@pytest.mark.process
def test_an_esbuild_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path / "node_modules" / ".bin" / "esbuild", "import threading; threading.Event().wait()")
    monkeypatch.setattr(esbuild, "TIMEOUT", 0.2)

    with pytest.raises(BundleError, match=r"esbuild was stopped after 0\.2 s"):
        _bundle(tmp_path, '<script type=module>import "./a.js"</script>')


@pytest.mark.process
def test_an_esbuild_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    _program(tmp_path / "node_modules" / ".bin" / "esbuild", "").write_text("#!/no/such/program\n")

    with pytest.raises(BundleError, match="could not be started"):
        _bundle(tmp_path, '<script type=module>import "./a.js"</script>')


# Output of other bundlers


@pytest.mark.process
def test_the_single_file_of_another_bundler_is_unchanged(tmp_path: Path) -> None:
    script = "import { App } from 'ext-apps-2/app-with-deps'; new App({});"
    program = esbuild.find_esbuild(ROOT)
    assert program is not None
    command = [program, "--bundle", "--minify", "--format=esm"]
    made = subprocess.run(
        command, input=script, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    text = f'<!doctype html>\r\n<html><head>\r\n<script type="module" crossorigin>{made}</script>\r\n</head></html>'
    (tmp_path / "view.html").write_text(text, newline="")

    bundle = bundle_file(tmp_path / "view.html", Csp())

    assert len(made) > 100_000
    assert bundle.html == text
    assert bundle.files == (tmp_path / "view.html",)
