/// The routes, routers and mounts that the text of one source file declares.
struct RouteFile: Sendable {
    struct Declaration: Sendable {
        let method: String
        let path: String
        let object: String?
        let line: Int
        let framework: String
    }

    /// A path prefix of all routes in a range of lines.
    struct Block: Sendable {
        let lines: ClosedRange<Int>
        let path: String
        /// The variable on which the block is opened; nil if there is none.
        let object: String?
    }

    /// A router that is derived from another router, or created with a path prefix.
    struct Router: Sendable {
        let parent: String?
        let path: String
    }

    /// The mount of a router or a module under a path.
    struct Mount: Sendable {
        let object: String?
        let path: String
        let target: String
        let line: Int
    }

    /// A function that declares routes on a router that is its parameter.
    struct Registrar: Sendable {
        let name: String
        let lines: ClosedRange<Int>
    }

    let source: SourceText
    private(set) var declarations: [Declaration] = []
    private(set) var blocks: [Block] = []
    private(set) var routers: [String: Router] = [:]
    private(set) var mounts: [Mount] = []
    private(set) var registrars: [Registrar] = []
    /// The prefix of all routes of the file, which follows from the path of the file.
    private(set) var prefix = ""

    init(_ source: SourceText, _ frameworks: [Framework]) {
        self.source = source
        for framework in frameworks {
            let syntax = framework.routes
            read(filesOf: syntax, framework)
            guard
                syntax.requires.isEmpty
                    || syntax.requires.contains(where: { source.text.contains($0) })
            else { continue }
            read(declarationsOf: syntax, framework)
            for pattern in syntax.objects {
                for match in source.matches(pattern) {
                    guard let object = match["object"] else { continue }
                    routers[object] = Router(parent: match["parent"], path: match["path"] ?? "")
                }
            }
            for block in syntax.blocks { read(block) }
            for pattern in syntax.mounts {
                mounts += source.matches(pattern).compactMap { match in
                    match["target"].map {
                        Mount(
                            object: match["object"],
                            path: match["path"] ?? match["constant"].map { "{=\($0)}" } ?? "",
                            target: $0,
                            line: match.line
                        )
                    }
                }
            }
            for pattern in syntax.registrars {
                registrars += source.matches(pattern).compactMap { match in
                    match["target"].map {
                        Registrar(
                            name: $0,
                            lines: match.line...source.lastLineOfBlock(openedAt: match.line)
                        )
                    }
                }
            }
        }
    }

    /// Replaces the names of constants in the paths of mounts and routers: `{API_PREFIX}` and
    /// `{settings.prefix}` of a string, and `{=name}` of an expression.
    ///
    /// A path parameter such as `{user_id}` stays.
    ///
    /// - Parameter constants: The paths by the names of their constants.
    mutating func resolve(_ constants: [String: String]) {
        func resolved(_ path: String) -> String {
            path.replacing(#/\$?\{(=?)((?:\w+\.)*)(\w+)\}/#) { match in
                let (whole, mark, owner, name) = match.output
                let isConstant = !mark.isEmpty || !owner.isEmpty || name.first?.isUppercase == true
                let path = isConstant ? constants[String(name)] : nil
                return path ?? (mark.isEmpty ? String(whole) : "")
            }
        }
        mounts = mounts.map {
            Mount(
                object: $0.object,
                path: resolved($0.path),
                target: $0.target,
                line: $0.line
            )
        }
        routers = routers.mapValues { Router(parent: $0.parent, path: resolved($0.path)) }
    }

    /// Returns the variable on which the outermost block around a line is opened, or the given one
    /// if there is none.
    func outermostRouter(at line: Int, or object: String?) -> String? {
        blocks.filter { $0.lines.contains(line) }.compactMap(\.object).first ?? object
    }

    /// Returns the prefix that the blocks around a line give to its routes.
    func blockPrefix(at line: Int) -> String {
        blocks.filter { $0.lines.contains(line) }.map(\.path).reduce("", RoutePath.joined)
    }

    private mutating func read(filesOf syntax: RouteSyntax, _ framework: Framework) {
        for filePrefix in syntax.filePrefixes
        where filePrefix.file.occurs(in: source.path) {
            prefix = filePrefix.prefix
        }
        for rule in syntax.files {
            guard
                let path = rule.path.first("path", in: source.path)
            else { continue }
            let matches = rule.methods.map(source.matches)
            if matches?.isEmpty == true { continue }
            let methods = (matches ?? []).compactMap { $0["method"] }.filter(RoutePath.isMethod)
            // Folders in parentheses only group files, and are not a part of the path.
            let parts = path.split(separator: "/").filter { !$0.hasPrefix("(") }
            for method in methods.isEmpty ? [""] : methods.uniqued() {
                declarations.append(
                    Declaration(
                        method: method,
                        path: "/" + parts.joined(separator: "/"),
                        object: nil,
                        line: matches?.first?.line ?? 1,
                        framework: framework.name
                    )
                )
            }
        }
    }

    private mutating func read(declarationsOf syntax: RouteSyntax, _ framework: Framework) {
        for pattern in syntax.declarations {
            for match in source.matches(pattern) {
                guard !Self.isHTTPClient(match["object"]) else { continue }
                let verb = (match["verb"] ?? match["method"] ?? "").uppercased()
                let method =
                    RoutePath.isMethod(verb)
                    ? verb : RoutePath.methods.first { match.text.contains($0) } ?? ""
                declarations.append(
                    Declaration(
                        method: method,
                        path: (match["path"] ?? "").replacing(
                            #/"\s*,\s*"/#,
                            with: "/"
                        ) + (match["query"].map { "?" + $0 } ?? ""),
                        object: match["object"],
                        line: match.line,
                        framework: framework.name
                    )
                )
            }
        }
    }

    private mutating func read(_ block: RouteSyntax.Block) {
        let matches = source.matches(block.pattern)
        for (index, match) in matches.enumerated() {
            let last: Int
            switch block.extent {
            case .indentation: last = source.lastLineOfBlock(openedAt: match.lastLine)
            case .untilNext:
                last =
                    index + 1 < matches.count
                    ? max(match.line, matches[index + 1].line - 1) : source.lines.count
            }
            let className = (match["class"] ?? "").lowercased().replacing("controller", with: "")
            let path = (match["path"] ?? "").replacing("[controller]", with: className)
                .replacing("{version:apiVersion}", with: "1")
            blocks.append(Block(lines: match.line...last, path: path, object: match["object"]))
        }
    }

    /// Returns whether a variable of this name usually holds a client that sends requests, so that
    /// its calls declare no routes.
    private static func isHTTPClient(_ object: String?) -> Bool {
        ["axios", "http", "https", "client", "fetch", "got", "ky", "supertest", "nock", "page"]
            .contains(object?.lowercased())
    }
}

/// The joining and comparing of paths of routes.
enum RoutePath {
    /// The HTTP methods, in the order in which they are searched for in a declaration.
    static let methods = ["POST", "PUT", "PATCH", "DELETE", "GET"]

    static func isMethod(_ text: String) -> Bool { methods.contains(text) }

    /// Returns a path below a prefix, with one slash between them.
    static func joined(_ prefix: String, _ path: String) -> String {
        let cleaned = path.trimmingPrefix("^").hasSuffix("$") ? String(path.dropLast()) : path
        let tail = cleaned.drop { $0 == "/" || $0 == "^" }
        let head = prefix.hasSuffix("/") ? String(prefix.dropLast()) : prefix
        guard !tail.isEmpty else { return head }
        return (head.hasPrefix("/") || head.isEmpty ? head : "/" + head) + "/" + tail
    }
}
