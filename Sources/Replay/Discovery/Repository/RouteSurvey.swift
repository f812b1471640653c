internal import Providers
internal import Values

/// Reads the routes of a backend from its files, with the names that their handlers read.
struct RouteSurvey: Sendable {
    /// The routes with a known prefix first, then those that may be mounted under any prefix, and
    /// then those that only the documentation lists.
    let routes: [SourceSurvey.Route]

    private static let routeCountMax = 2000
    /// The largest number of lines after a declaration that are read as its handler.
    private static let handlerLineCountMax = 40

    init(_ files: [SurveyedFile]) {
        let graph = RouteGraph(files)
        let models = RequestModels(files.map(\.source))
        let functions = FunctionIndex(files.map(\.source))
        var routes: [SourceSurvey.Route] = []
        var open: [SourceSurvey.Route] = []
        var documented: [SourceSurvey.Route] = []
        let declaredLines = graph.files.map { file in
            Set(file.declarations.map(\.line)).sorted()
        }
        for route in graph.routes.prefix(Self.routeCountMax) {
            let source = graph.files[route.file].source
            let parts = route.path.split(separator: "?", maxSplits: 1).map(String.init)
            guard let path = Self.template(parts.first ?? "/") else { continue }
            let end =
                declaredLines[route.file].first { $0 > route.line } ?? source.lines.count + 1
            let handler = source.lines[(route.line - 1)..<max(route.line, end - 1)]
                .prefix(Self.handlerLineCountMax)
            let handlerText = handler.joined(separator: "\n")
            var names = HandlerNames(handlerText, models)
            if names.body.isEmpty, route.method != "GET" {
                names = HandlerNames(
                    Self.functionsNamed(in: source.lines[route.line - 1], functions, route.file),
                    models
                )
            }
            let isDocumentation = source.path.hasSuffix(".md")
            var found = SourceSurvey.Route(
                method: route.method,
                path: path,
                bodyNames: isDocumentation ? [] : names.body,
                queryNames: isDocumentation
                    ? Self.queryNames(parts.dropFirst().first ?? "") : names.query,
                location: "\(source.path):\(route.line)",
                declaration: source.lines[route.line - 1]
            )
            found.namesRegistration = !isDocumentation && Self.registration.occurs(in: handlerText)
            if isDocumentation {
                documented.append(found)
            } else if route.isResolved {
                routes.append(found)
            } else {
                open.append(found)
            }
        }
        let prefixed = graph.allPrefixes.flatMap { prefix in
            open.map { $0.below(prefix) }
        }
        let declared = (routes + open + prefixed).uniqued()
        let known = Set(declared.map { "\($0.method) \($0.path)" })
        let added = documented.filter {
            !known.contains("\($0.method) \($0.path)") || !$0.queryNames.isEmpty
        }
        self.routes = Array((declared + added).uniqued().prefix(Self.routeCountMax))
    }

    /// Returns the text of the functions that a declaration names, and of the functions to which
    /// these pass the body of the request.
    private static func functionsNamed(
        in declaration: String,
        _ functions: FunctionIndex,
        _ file: Int
    ) -> String {
        let texts = declaration.identifiers.uniqued().compactMap {
            functions.text(of: $0, from: file)
        }
        let inner = texts.flatMap { text in
            SourceText(path: "", text: text).matches(bodyArgument).compactMap { $0["name"] }
        }.uniqued().compactMap { functions.text(of: $0, from: file) }
        return (texts + inner).uniqued().joined(separator: "\n")
    }

    /// The name of a function that registers users, or a password.
    private static let registration: Pattern =
        #"(?i)\b(?:register|sign_?up|(?:create|add|new)_?(?:user|account|customer|member))\b|passw(?:or)?d"#

    /// A call to which the code passes the body of a request.
    private static let bodyArgument: Pattern =
        #"\b(?<name>\w+)\((?:[^()\n]*,\s*)?(?:body|json|data|payload)\s*[,)]"#

    /// Returns the path of a route with `{{id}}` in place of its parameter; nil if it has several
    /// parameters.
    static func template(_ path: String) -> String? {
        var count = 0
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { part in
            let isParameter = [":", "<", "{", "[", "$", "(?"].contains { part.hasPrefix($0) }
            count += isParameter ? 1 : 0
            return isParameter ? "{{id}}" : String(part)
        }
        guard count <= 1 else { return nil }
        let template = parts.joined(separator: "/")
        return template.isEmpty ? "/" : template
    }

    private static func queryNames(_ query: String) -> [String] {
        query.split(separator: "&").compactMap { entry in
            entry.split(separator: "=").first.map(String.init)
        }
    }
}

extension SourceSurvey.Route {
    /// Returns the route as mounted under a prefix.
    fileprivate func below(_ prefix: String) -> SourceSurvey.Route {
        var route = SourceSurvey.Route(
            method: method,
            path: RoutePath.joined(prefix, path),
            bodyNames: bodyNames,
            queryNames: queryNames,
            location: location,
            declaration: declaration
        )
        route.namesRegistration = namesRegistration
        return route
    }
}

/// The request bodies that files define as classes, by the name of the class.
struct RequestModels: Sendable {
    /// The names of the fields of each class.
    private(set) var fields: [String: [String]] = [:]

    private static let model: Pattern =
        #"^class\s+(?<name>\w+)\([^)]*(?:BaseModel|Schema)[^)]*\):"#
    private static let field: Pattern = #"^\s+(?<name>[a-z]\w*)\s*:\s*[^=\n]+(?<default>=.*)?$"#

    init(_ sources: [SourceText]) {
        for source in sources where source.path.hasSuffix(".py") {
            for match in source.matches(Self.model) {
                guard let name = match["name"] else { continue }
                let end = source.lastLineOfBlock(openedAt: match.line)
                let body = source.lines[match.line..<max(match.line, end)].joined(separator: "\n")
                fields[name] = SourceText(path: "", text: body).matches(Self.field)
                    .compactMap { $0["name"] }
            }
        }
    }
}

/// The names that the handler of a route reads from the body and the query of a request.
struct HandlerNames: Sendable {
    let body: [String]
    let query: [String]

    private static let bodyObjects = #"(?:body|json|data|payload|params|form|input)"#
    private static let queryObjects = #"(?:query|args|searchParams|GET)"#
    private static let bodyPatterns = patterns(bodyObjects)
    private static let queryPatterns =
        patterns(queryObjects) + [
            #"\.Query\(\s*"(?<name>\w+)""#, #"\.Query\(\)\.Get\(\s*"(?<name>\w+)""#,
        ]
    private static let signature: Pattern =
        #"^\s*(?:async\s+)?def\s+\w+\((?<parameters>[^)]*(?:\([^)]*\)[^)]*)*)\)"#
    private static let methods: Set<String> = [
        "get", "post", "body", "json", "query", "length", "toString",
    ]

    init(_ handler: String, _ models: RequestModels) {
        let source = SourceText(path: "", text: handler)
        var body = Self.names(in: source, Self.bodyPatterns)
        var query = Self.names(in: source, Self.queryPatterns)
        for parameter in Self.parameters(of: source) {
            if let fields = models.fields[parameter.type] {
                body += fields
            } else if ["str", "int", "UUID", "EmailStr"].contains(parameter.type) {
                query.append(parameter.name)
            }
        }
        self.body = body.filter { !Self.methods.contains($0) }.uniqued()
        self.query = query.filter { !Self.methods.contains($0) }.uniqued()
    }

    private static func patterns(_ object: String) -> [Pattern] {
        [
            object + #"\??\.(?<name>[A-Za-z_][A-Za-z0-9_]{0,40})\b(?!\s*\()"#,
            object + #"(?:\(\))?\??\[\s*["'`](?<name>[A-Za-z_][A-Za-z0-9_]{0,40})["'`]"#,
            object + #"(?:\(\))?\.(?:get|fetch|input)\(\s*["'`](?<name>[A-Za-z_]\w{0,40})["'`]"#,
            #"\w\(\s*"# + object + #"\s*,\s*["'](?<name>[A-Za-z_]\w{0,40})["']"#,
            #"["'](?<name>[A-Za-z_]\w{0,40})["']\s+in\s+"# + object + #"\b"#,
            #"\{(?<names>[\w\s,:='"]+)\}\s*=\s*[^;\n]*\b"# + object + #"\b"#,
        ].map(Pattern.init(stringLiteral:))
    }

    private static func names(in source: SourceText, _ patterns: [Pattern]) -> [String] {
        let matches = patterns.flatMap(source.matches)
        let single = matches.compactMap { $0["name"] }
        let destructured = matches.compactMap { $0["names"] }.flatMap { names in
            names.split(separator: ",").compactMap { $0.split { !$0.isIdentifier }.first }
                .map(String.init)
        }
        return single + destructured
    }

    /// Returns the parameters of the first Python function, without those that the framework
    /// injects.
    private static func parameters(of source: SourceText) -> [(name: String, type: String)] {
        guard let list = source.matches(signature).first?["parameters"] else { return [] }
        return list.split(separator: ",").compactMap { entry in
            let parts = entry.split(separator: ":", maxSplits: 1)
            guard parts.count == 2,
                !["Depends(", "Header(", "Path(", "Cookie(", "File("].contains(
                    where: parts[1].contains
                )
            else { return nil }
            let type = parts[1].replacing("Optional[", with: "").split { !$0.isIdentifier }.first
            return (parts[0].trimmed, type.map(String.init) ?? "")
        }
    }
}

extension Character {
    /// Whether the character may occur in the name of a variable.
    fileprivate var isIdentifier: Bool { isLetter || isNumber || self == "_" }
}
