internal import Foundation
internal import Programs

/// A backend in one Python file, for tests of `assay init` with a running backend.
package enum PythonBackend {
    /// Whether this machine has Python.
    package static let isAvailable =
        ProgramCommand.findExecutable("python3", searchPath: "/usr/local/bin:/usr/bin:/bin") != nil

    /// Returns the source of a backend.
    ///
    /// - Parameters:
    ///   - routes: The functions of the routes, such as `@app.get("/me")` above a function that
    ///     takes the request and returns a status and a document.
    ///   - imports: The modules that the routes need.
    ///   - choosingPath: Lines that may change the variable `path` of a request, eight spaces from
    ///     the margin.
    /// - Returns: The source, which serves on the port of its first argument.
    package static func source(
        _ routes: String,
        imports: String = "json, secrets, sys",
        choosingPath: String = ""
    ) -> String {
        """
        import \(imports)
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        class App:
            def __init__(self): self.routes = {}
            def route(self, method, path):
                def register(function):
                    self.routes[method, path] = function
                    return function
                return register
            def get(self, path): return self.route("GET", path)
            def post(self, path): return self.route("POST", path)
            def delete(self, path): return self.route("DELETE", path)

        app = App()
        \(routes)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def answer(self):
                length = int(self.headers.get("content-length") or 0)
                text = self.rfile.read(length) or b"{}"
                self.json = lambda: json.loads(text)
                path = self.path
        \(choosingPath)
                try: status, body = app.routes.get((self.command, path), lambda _: (404, {}))(self)
                except Exception: status, body = 400, {}
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            do_GET = do_POST = do_DELETE = answer
            def log_message(self, *_): pass

        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
        """
    }

    /// Runs `assay init` with a backend in a folder of its own.
    ///
    /// - Parameters:
    ///   - source: The source of the backend.
    ///   - otherFiles: The texts of other files of its repository, by their paths.
    /// - Returns: The result, and the text of the profile; empty if none was written.
    /// - Throws: An error of the file system.
    package static func initialize(
        _ source: String,
        otherFiles: [String: String] = [:]
    ) async throws -> (result: Program.Result, profile: String) {
        let folder = try TemporaryFolder()
        try folder.write(source, to: "app.py")
        for (path, text) in otherFiles { try folder.write(text, to: path) }
        let result = try await Program.run(
            ["init", "--start", "exec python3 app.py {{port}}"],
            folder: folder.path
        )
        return (result, folder.read("assay.yaml") ?? "")
    }
}
