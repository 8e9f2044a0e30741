import Foundation
import Testing

@testable import WebServer

/// The modules of a page's first view, in one file.
struct PageModulesTests {
    private static let page = """
        <link rel="stylesheet" href="/page.css">
        <script type="module" src="/app/main.js"></script>
        <link rel="modulepreload" href="/app/a.js">
        <link rel="modulepreload" href="/app/views/b.js">
        """
    private static let site = [
        "/index.html": page,
        "/app/main.js":
            "// Starts.\nimport { b as last } from \"./views/b.js\";\nimport * as a from \"./a.js\";\nlast(a);",
        "/app/a.js": "export const one = 1;\nexport async function two() {}\nexport class Three {}",
        "/app/views/b.js": "import { one, two } from \"../a.js\";\nexport function b() { return one; }",
        "/app/views/later.js":
            "import { one as first } from \"../a.js\";\nimport * as a from \"../a.js\";\nimport { x } from \"./x.js\";\nexport default 1;",
        "/app/views/x.js": "export let x = 1;",
    ]

    private func served(_ change: (inout [String: String]) -> Void = { _ in }) -> [String: String]? {
        var site = Self.site
        change(&site)
        let files = PageModules(of: "/index.html", in: site.mapValues { Array($0.utf8) })?.files
        return files?.mapValues { String(decoding: $0, as: UTF8.self) }
    }

    @Test func theFirstViewIsOneFileInTheOrderInWhichModulesRun() throws {
        let files = try #require(served())
        #expect(
            files["/app/main.js"] == """
                // /app/a.js
                const _app_a_js = (() => {
                const one = 1;
                async function two() {}
                class Three {}
                return { one, two, Three };
                })();
                // /app/views/b.js
                const _app_views_b_js = (() => {
                const { one, two } = _app_a_js;
                function b() { return one; }
                return { b };
                })();
                // /app/main.js
                (() => {
                // Starts.
                const { b: last } = _app_views_b_js;
                const a = _app_a_js;
                last(a);
                })();
                export { _app_a_js, _app_views_b_js };
                """
        )
        #expect(
            files["/index.html"]
                == "<link rel=\"stylesheet\" href=\"/page.css\">\n<script type=\"module\" src=\"/app/main.js\"></script>"
        )
    }

    @Test func whoeverAsksLaterGetsTheSameModules() throws {
        let files = try #require(served())
        #expect(
            files["/app/a.js"]
                == "import { _app_a_js } from \"/app/main.js\";\nexport const { one, two, Three } = _app_a_js;\n"
        )
        #expect(
            files["/app/views/later.js"] == """
                import { _app_a_js } from "/app/main.js"; const { one: first } = _app_a_js;
                import { _app_a_js as a } from "/app/main.js";
                import { x } from "/app/views/x.js";
                export default 1;
                """
        )
    }

    @Test(arguments: [
        ("/app/a.js", "export let one = 1;"), ("/app/a.js", "export default 1;"),
        ("/app/a.js", "export * from \"./c.js\";"),
        ("/app/a.js", "import { b } from \"./views/b.js\";"), ("/app/a.js", "import { x } from \"./views/x.js\";"),
        ("/app/a.js", "import {\n  x,\n} from \"./views/x.js\";"), ("/app/a.js", "import \"./views/x.js\";"),
        ("/app/a.js", "import { x } from \"https://example.com/x.js\";"), ("/app/main.js", "1;"),
        ("/index.html", "<script type=\"module\" src=\"/app/main.js\"></script>"),
    ])
    func whatIsNotUnderstoodIsServedAsItStands(path: String, text: String) {
        #expect(served { $0[path] = text } == nil)
    }

    /// Otherwise each load of the page would ask for thirty files, and nobody would notice.
    @Test func theTerminalsOwnPageIsJoined() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let files = try StaticFiles(folder: root.path + "/Public")
        func text(_ path: String) throws -> String {
            let request = try #require(
                WebRequest(method: "GET", target: path, headers: [:])
            )
            guard case .bytes(let body)? = files.response(for: request)?.body else { throw CancellationError() }
            return String(decoding: body, as: UTF8.self)
        }
        #expect(try !text("/").contains("modulepreload"))
        #expect(try text("/app/main.js").contains("const _app_dom_js = (() => {"))
        #expect(try text("/app/views/history.js").contains("from \"/app/main.js\"; const {"))
        #expect(try text("/app/dom.js").hasPrefix("import { _app_dom_js } from \"/app/main.js\";"))
    }
}
