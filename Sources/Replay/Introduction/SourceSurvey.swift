package import Conformance
internal import FakeServers
internal import Foundation
internal import Providers

/// What the files of a backend's repository say of it before anybody asks it.
///
/// Lines are read as text, whatever language they are in: all of it is a guess that the running backend
/// has to bear out.
package struct SourceSurvey: Sendable {
    /// One file.
    package struct File: Sendable {
        /// Where it is, for people.
        package let path: String
        package let text: String

        package init(path: String, text: String) {
            (self.path, self.text) = (path, text)
        }
    }

    /// A route that a line seems to declare.
    package struct Route: Hashable, Sendable {
        /// Empty where the line does not say.
        package let method: String
        /// With `{{id}}` in the place of its parameter.
        package let path: String
        /// Whether somebody's id stands in it.
        package var hasID: Bool { path.contains("{{id}}") }
        /// Names that the lines below it take out of the request's body, and of its query.
        package let bodyNames: [String]
        package let queryNames: [String]
        package let place: String
    }

    /// A variable of the environment that a line reads.
    package struct Variable: Hashable, Sendable {
        package let name: String
        /// What holds where it is not set.
        package let fallback: String?
        package let place: String
    }

    /// A server that a line names, and no variable in its place.
    package struct FixedHost: Hashable, Sendable {
        package let host: String
        package let place: String
    }

    package private(set) var routes: [Route] = []
    package private(set) var variables: [Variable] = []
    package private(set) var fixedHosts: [FixedHost] = []
    /// Commands that seem to start it, the likeliest first.
    package private(set) var commands: [String] = []
    /// Names of packages that it depends on, in lower case.
    package private(set) var packages: Set<String> = []
    /// Whether a header is compared with a variable behind `Bearer`.
    package private(set) var writesBearer = false
    /// Providers that any of its files names.
    package private(set) var mentioned: Set<Exchange.Party> = []
    /// Providers whose own host or package any of its files names.
    package private(set) var called: Set<Exchange.Party> = []
    /// Whether there was code to read.
    package private(set) var hasCode = false
    /// Whether anything is signed or proved by a keyed digest.
    package private(set) var usesHMAC = false

    private var composeCommands: [String] = []

    package init(_ files: [File]) {
        var prefixes: [String] = []
        for file in files {
            manifest(file)
            mention(in: file.text.lowercased())
            guard SourceSurvey.isSource(file.path) else { continue }
            hasCode = true
            let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
                .prefix(20_000).map { String($0.prefix(400)) }
            let readsByName = lines.contains(where: Self.readsByName)
            for (index, line) in lines.enumerated() {
                let place = "\(file.path):\(index + 1)"
                if readsByName { read(namesIn: line, place) }
                if line.contains("use(") || line.contains("prefix") {
                    prefixes += Self.captures(
                        #"(?:\.use\(|prefix\s*=|prefix:)\s*["'`](/[\w/-]+)["'`]"#,
                        line
                    )
                    .map { $0[0] }
                }
                read(variablesOf: line, place)
                read(hostsOf: line, place)
                let plain = line.lowercased()
                usesHMAC = usesHMAC || plain.contains("createhmac") || plain.contains("hmac.")
                if line.contains("Bearer ${") || line.contains("Bearer {")
                    || line.contains("Bearer \" +")
                    || line.contains("'Bearer ' +") || line.contains("Bearer %s")
                    || line.contains("Bearer #{")
                {
                    writesBearer = true
                }
                routes += Self.routes(in: lines, at: index, place)
            }
        }
        let mounted = Set(prefixes).sorted().flatMap { prefix in
            routes.map { route in
                Route(
                    method: route.method,
                    path: prefix + (route.path == "/" ? "" : route.path),
                    bodyNames: route.bodyNames,
                    queryNames: route.queryNames,
                    place: route.place
                )
            }
        }
        routes = Array((routes + mounted).uniqued().prefix(400))
        variables = variables.uniqued(by: \.name)
        fixedHosts = fixedHosts.uniqued()
        // A container's command may name what only the container has.
        commands = (commands + composeCommands).uniqued()
    }

    /// Whether it verifies ID tokens, through a provider's own package or by hand.
    package var usesTokens: Bool {
        verifiesByHand
            || issuers.contains { provider in
                packages.contains { name in provider.hints.packages.contains { name.contains($0) } }
            }
    }

    /// Whether its own code names the host of an issuer of tokens.
    package var verifiesByHand: Bool {
        issuers.contains { provider in
            fixedHosts.contains { fixed in
                provider.ownHosts.contains { fixed.host == $0 || fixed.host.hasSuffix("." + $0) }
            }
        }
    }

    /// Whether it can be told where the keys of those tokens are.
    package var readsKeyAddresses: Bool {
        let names = issuers.flatMap(\.hints.keyAddresses)
        return variables.contains { names.contains($0.name) }
    }

    private var issuers: [ProviderEntry] {
        Services.providers.filter { !$0.hints.keyAddresses.isEmpty }
    }

    // MARK: Files

    private static let sources: Set<String> = [
        "js", "cjs", "mjs", "ts", "mts", "tsx", "jsx", "py", "go", "rb", "php", "java", "kt",
        "swift",
        "cs", "rs", "ex", "exs", "dart",
    ]

    /// Whether lines of it are read as code.
    package static func isSource(_ path: String) -> Bool {
        path.split(separator: ".").last.map { sources.contains($0.lowercased()) } ?? false
    }

    /// Files that say how it is started, and what it depends on.
    package static func isManifest(_ path: String) -> Bool {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return ComposeServices.names.contains(name)
            || [
                "package.json", "requirements.txt", "pyproject.toml", "Procfile", "go.mod",
                "Gemfile",
                "Cargo.toml", "composer.json", "manage.py", "config.ru", ".env.example",
                ".env.sample",
                "Package.swift",
            ].contains(name)
    }

    private mutating func mention(in text: String) {
        for provider in Services.providers {
            if provider.ownHosts.contains(where: text.contains)
                || provider.hints.packages.contains(where: packages.contains)
            {
                called.insert(provider.party)
            }
            // A short word stands in too many others.
            let words = provider.hints.words.map { $0.lowercased() }.filter { $0.count > 4 }
            if (words + provider.ownHosts).contains(where: text.contains) {
                mentioned.insert(provider.party)
            }
        }
    }

    private mutating func manifest(_ file: File) {
        let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
        let isHere = !file.path.contains("/")
        switch name {
        case "package.json":
            guard let object = try? JSONValue(parsing: Array(file.text.utf8)) else { return }
            for key in ["dependencies", "devDependencies"] {
                packages.formUnion(object[key]?.object?.members.map { $0.key.lowercased() } ?? [])
            }
            guard isHere else { return }
            if let script = object["scripts"]?["start"]?.string {
                // A script that is one call of node needs no package manager, which swallows signals.
                commands.append(script.hasPrefix("node ") ? script : "npm start")
            } else if let main = object["main"]?.string {
                commands.append("node \(main)")
            }
        case "requirements.txt", "pyproject.toml", "Gemfile", "go.mod", "Cargo.toml":
            packages.formUnion(
                file.text.lowercased().split {
                    !($0.isLetter || $0.isNumber || "-_./".contains($0))
                }
                .map(String.init)
            )
            guard isHere else { return }
            if name == "go.mod" { commands.append("go run .") }
            if name == "Cargo.toml" { commands.append("cargo run") }
        case "Procfile" where isHere:
            for line in file.text.split(separator: "\n") where line.hasPrefix("web:") {
                let command = line.dropFirst(4).drop { $0 == " " }
                commands.insert(
                    String(command).replacing("$PORT", with: "{{port}}").replacing(
                        "${PORT}",
                        with: "{{port}}"
                    ),
                    at: 0
                )
            }
        case "manage.py" where isHere:
            commands.append("python manage.py runserver --noreload {{port}}")
        case "config.ru" where isHere: commands.append("bundle exec rackup -p {{port}}")
        case _ where ComposeServices.names.contains(name) && isHere:
            let services = ComposeServices(file.text)
            composeCommands += services.commands
            for (name, value, line) in services.variables {
                let place = "\(file.path):\(line)"
                variables.append(Variable(name: name, fallback: value, place: place))
            }
        case ".env.example", ".env.sample":
            for line in file.text.split(separator: "\n") {
                guard let equals = line.firstIndex(of: "="), !line.hasPrefix("#") else { continue }
                let name = line[..<equals].trimmed
                let value = line[line.index(after: equals)...].trimmed
                variables.append(
                    Variable(name: name, fallback: value.isEmpty ? nil : value, place: file.path)
                )
            }
        default:
            // A program of one file, in the folder itself.
            guard isHere, name.hasSuffix(".py") else { return }
            let module = name.dropLast(3)
            if file.text.contains("FastAPI(") {
                commands.append("python -m uvicorn \(module):app --port {{port}}")
            } else if file.text.contains("app.run(") {
                commands.append("python \(name)")
            } else if file.text.contains("Flask(") {
                commands.append("python -m flask --app \(module) run --port {{port}}")
            }
        }
    }

    // MARK: Lines

    private mutating func read(variablesOf line: String, _ place: String) {
        guard line.lowercased().contains("env") else { return }
        let forms = [
            #"process\.env\.([A-Z][A-Z0-9_]{2,})"#, #"process\.env\[\s*["'`]([A-Z][A-Z0-9_]{2,})"#,
            #"environ(?:\.get\(|\[)\s*["']([A-Z][A-Z0-9_]{2,})"#,
            #"(?i:getenv)\(\s*["']([A-Z][A-Z0-9_]{2,})"#,
            #"ENV(?:\.fetch\(|\[)\s*["']([A-Z][A-Z0-9_]{2,})"#,
            #"(?i:\w*env\w*)\(\s*["']([A-Z][A-Z0-9_]{2,})"#,
            #"env\.get\(\s*["']([A-Z][A-Z0-9_]{2,})"#,
        ]
        for form in forms {
            for match in Self.captures(form, line) {
                // `|| 'x'`, `?? "x"`, `, "x")`: what stands in quotes behind it.
                let behind =
                    line.firstRange(of: match[0]).map { String(line[$0.upperBound...]) } ?? ""
                let fallback = Self.captures(
                    #"^["'\]\)]*\s*(?:\|\||\?\?|,|or)\s*["'`]([^"'`]*)["'`]"#,
                    behind
                ).first?[0]
                variables.append(Variable(name: match[0], fallback: fallback, place: place))
            }
        }
    }

    /// Whether it reads a variable whose name stands elsewhere: `process.env[name]`.
    private static func readsByName(_ line: String) -> Bool {
        guard line.lowercased().contains("env") else { return false }
        let form =
            #"process\.env\[\s*[a-z_]|environ(?:\.get\(|\[)\s*[a-z_]|(?i:getenv)\(\s*[a-z_]|ENV(?:\.fetch\(|\[)\s*[a-z_]"#
        return !captures("(" + form + ")", line).isEmpty
    }

    /// What such a file hands to a function of its own: `required('API_KEY')`.
    private mutating func read(namesIn line: String, _ place: String) {
        let form = #"\w+\(\s*["'`]([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)["'`]"#
        for match in Self.captures(form, line) {
            variables.append(Variable(name: match[0], fallback: nil, place: place))
        }
    }

    private mutating func read(hostsOf line: String, _ place: String) {
        guard line.contains("://") else { return }
        // A variable may be set in its place.
        let isFallback =
            line.contains("process.env") || line.contains("environ") || line.contains("etenv")
            || line.contains("ENV")
        guard !isFallback else { return }
        for match in Self.captures(#"https?://([A-Za-z0-9.-]+\.[a-z]{2,})"#, line) {
            fixedHosts.append(FixedHost(host: match[0].lowercased(), place: place))
        }
    }

    private static func routes(in lines: [String], at index: Int, _ place: String) -> [Route] {
        let line = lines[index]
        guard
            line.contains("\"/") || line.contains("'/") || line.contains("`/")
                || line.contains("\"POST /") || line.contains("\"GET /")
        else { return [] }
        let form =
            #"(?i)(?:^|[\s.@:])(get|post|put|patch|delete|route|handle|handlefunc|all|(?:get|post|put|patch|delete|request)mapping)\s*\(?\s*(?:value\s*=\s*|path\s*=\s*)?["'`](?:(GET|POST|PUT|PATCH|DELETE) )?(/[^"'`\s?]*)["'`]"#
        return captures(form, line).compactMap { match in
            let verb = match[0].lowercased().replacing("mapping", with: "")
            var method = match[1]
            if method.isEmpty, ["get", "post", "put", "patch", "delete"].contains(verb) {
                method = verb.uppercased()
            }
            if method.isEmpty {
                method =
                    ["POST", "PUT", "PATCH", "DELETE", "GET"].first { line.contains($0) } ?? ""
            }
            guard let path = template(match[2]) else { return nil }
            let below = body(of: lines, from: index)
            return Route(
                method: method,
                path: path,
                bodyNames: names(in: below, of: #"(?:body|json|data|payload|params|form|input)"#),
                queryNames: names(in: below, of: #"(?:query|args|searchParams|GET)"#),
                place: place
            )
        }
    }

    /// With `{{id}}` for its parameter; nil where it has several.
    static func template(_ path: String) -> String? {
        var count = 0
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { part in
            let isParameter =
                part.hasPrefix(":") || part.hasPrefix("<") || part.hasPrefix("{")
                || part.hasPrefix("[")
                || part.hasPrefix("$")
            count += isParameter ? 1 : 0
            return isParameter ? "{{id}}" : String(part)
        }
        return count <= 1 ? parts.joined(separator: "/") : nil
    }

    /// The lines that seem to carry the route out: until the next one begins.
    private static func body(of lines: [String], from index: Int) -> [String] {
        var body: [String] = [lines[index]]
        for line in lines.dropFirst(index + 1).prefix(40) {
            let form = #"(?i)(?:^\s*@?\w+\.(?:get|post|put|patch|delete|route)\(\s*["'`]/)"#
            if !captures(form + "()", line).isEmpty { break }
            body.append(line)
        }
        return body
    }

    /// Names that are taken out of something: `body.email`, `data.get("email")`, `{ email } = req.body`.
    private static func names(in lines: [String], of source: String) -> [String] {
        let word = #"([A-Za-z_][A-Za-z0-9_]{0,40})"#
        let forms = [
            source + #"\??\."# + word + #"\b(?!\s*\()"#,
            source + #"\??\[\s*["'`]"# + word + #"["'`]"#,
            source + #"(?:\(\))?\.(?:get|fetch|input)\(\s*["'`]"# + word + #"["'`]"#,
        ]
        let methods: Set<String> = ["get", "post", "body", "json", "query", "length", "toString"]
        var found: [String] = []
        for line in lines {
            for form in forms { found += captures(form, line).map { $0[0] } }
            let destructured = captures(
                #"\{([\w\s,:='"]+)\}\s*=\s*[^;]*\b"# + source + #"\b"#,
                line
            )
            for match in destructured {
                found += match[0].split(separator: ",").compactMap { part in
                    part.split { !($0.isLetter || $0.isNumber || $0 == "_") }.first.map(String.init)
                }
            }
        }
        return found.filter { !methods.contains($0) }.uniqued()
    }

    /// What the groups of a pattern hold at each of its matches; an empty text where one took no part.
    static func captures(_ pattern: String, _ text: String) -> [[String]] {
        guard let expression = Patterns.expression(pattern) else { return [] }
        let whole = text as NSString
        let range = NSRange(location: 0, length: whole.length)
        return expression.matches(in: text, range: range).map { match in
            (1..<match.numberOfRanges).map { group in
                let found = match.range(at: group)
                return found.location == NSNotFound ? "" : whole.substring(with: found)
            }
        }
    }
}

/// Patterns by their texts; each is read once.
private enum Patterns {
    private static let known = Locked<[String: NSRegularExpression]>([:])

    static func expression(_ pattern: String) -> NSRegularExpression? {
        known.withLock { known in
            if let expression = known[pattern] { return expression }
            let expression = try? NSRegularExpression(pattern: pattern)
            known[pattern] = expression
            return expression
        }
    }
}

extension Sequence {
    /// Without what has stood there before by its key.
    func uniqued<Key: Hashable>(by key: (Element) -> Key) -> [Element] {
        var known: Set<Key> = []
        return filter { known.insert(key($0)).inserted }
    }
}

extension Sequence where Element: Hashable {
    func uniqued() -> [Element] { uniqued(by: \.self) }
}

extension StringProtocol {
    /// Without blanks at its ends.
    var trimmed: String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
