internal import Foundation
internal import Providers
package import Values

/// Collects facts about a backend from its source files, such as its routes and environment
/// variables.
///
/// The lines of the files are searched as text, in any programming language. Every fact is a guess
/// that the running backend has to confirm.
package struct SourceSurvey: Sendable {
    /// A file of the backend, with its content.
    package struct File: Sendable {
        /// The path of the file as the user typed it or as it is printed for the user.
        package let path: String
        package let text: String

        package init(path: String, text: String) {
            (self.path, self.text) = (path, text)
        }
    }

    /// A route of the backend that a line of code seems to declare.
    package struct Route: Hashable, Sendable {
        /// The HTTP method; empty when the line does not contain it.
        package let method: String
        /// The path, with `{{id}}` in place of a path parameter.
        package let path: String
        /// Whether the path contains the ID of a user.
        package var hasID: Bool { path.contains("{{id}}") }
        /// The names that the code after the declaration reads from the request body.
        ///
        /// `queryNames` contains the names that it reads from the query.
        package let bodyNames: [String]
        package let queryNames: [String]
        package let location: String
        /// The line of code that declares the route.
        package let declaration: String
    }

    /// An environment variable that a line of code reads.
    package struct Variable: Hashable, Sendable {
        package let name: String
        /// The value that the code uses if the variable is not set; nil if the code has none.
        package let fallback: String?
        package let location: String
    }

    /// The host of a URL that a line of code contains literally.
    package struct FixedHost: Hashable, Sendable {
        package let host: String
        package let location: String
    }

    package private(set) var routes: [Route] = []
    package private(set) var variables: [Variable] = []
    package private(set) var fixedHosts: [FixedHost] = []
    /// Commands that seem to start the backend, the most likely one first.
    package private(set) var commands: [String] = []
    /// The lowercase names of the packages that the backend depends on.
    package private(set) var packages: Set<String> = []
    /// Whether the code puts `Bearer` before a variable, probably to compare the result with a
    /// header.
    package private(set) var prependsBearer = false
    /// The providers (services for which Assay has a fake) that any of the files mentions.
    package private(set) var mentionedProviders: Set<Exchange.Party> = []
    /// The providers whose host name or package name occurs in any of the files.
    package private(set) var calledProviders: Set<Exchange.Party> = []
    /// Whether any source code was found.
    package private(set) var hasCode = false
    /// Whether the code computes an HMAC to sign or verify data.
    package private(set) var usesHMAC = false

    private var composeCommands: [String] = []

    package init(_ files: [File]) {
        var sources: [SourceText] = []
        for file in files {
            readManifest(file)
            recordMentionedProviders(in: file.text.lowercased())
            let source = SourceText(path: file.path, text: file.text)
            sources.append(source)
            guard SourceSurvey.isSource(file.path) else { continue }
            hasCode = true
            read(source)
        }
        routes = RouteSurvey(sources).routes
        variables = variables.uniqued(by: \.name)
        fixedHosts = fixedHosts.uniqued()
        // The start command of a container may use files that exist only in the container, so it
        // comes last.
        commands = (commands + composeCommands).uniqued()
    }

    /// Reads the lines of a source file.
    private mutating func read(_ source: SourceText) {
        let readsComputedVariable = source.lines.contains(where: Self.readsComputedVariable)
        for (index, line) in source.lines.enumerated() {
            let location = "\(source.path):\(index + 1)"
            if readsComputedVariable { read(namesIn: line, location) }
            read(variablesOf: line, location)
            read(hostsOf: line, location)
            let lowercaseLine = line.lowercased()
            usesHMAC =
                usesHMAC || lowercaseLine.contains("createhmac") || lowercaseLine.contains("hmac.")
            prependsBearer = prependsBearer || Self.bearerForms.contains(where: line.contains)
        }
    }

    /// The forms in which code puts `Bearer` before a variable.
    private static let bearerForms = [
        "Bearer ${", "Bearer {", "Bearer \" +", "'Bearer ' +", "Bearer %s", "Bearer #{",
    ]

    /// Whether the backend verifies ID tokens, with the package of a token issuer or with its own
    /// code.
    package var usesTokens: Bool {
        verifiesTokensItself
            || tokenIssuers.contains { provider in
                packages.contains { name in provider.hints.packages.contains { name.contains($0) } }
            }
    }

    /// Whether the code contains the host of a token issuer, so that the backend verifies ID tokens
    /// itself.
    package var verifiesTokensItself: Bool {
        tokenIssuers.contains { provider in
            fixedHosts.contains { fixed in
                provider.exclusiveHosts.contains {
                    fixed.host == $0 || fixed.host.hasSuffix("." + $0)
                }
            }
        }
    }

    /// Whether an environment variable sets the address from which the backend gets the keys of ID
    /// tokens.
    package var readsKeyAddresses: Bool {
        let names = tokenIssuers.compactMap(\.tokenIssuer).flatMap { $0.keyURLVariables }
        return variables.contains { names.contains($0.name) }
    }

    private var tokenIssuers: [ProviderEntry] {
        Services.providers.filter { $0.tokenIssuer != nil }
    }

    // MARK: Files

    private static let sourceExtensions: Set<String> = [
        "js", "cjs", "mjs", "ts", "mts", "tsx", "jsx", "py", "go", "rb", "php", "java", "kt",
        "swift",
        "cs", "rs", "ex", "exs", "dart",
    ]

    /// Returns whether a file contains source code, according to its extension.
    package static func isSource(_ path: String) -> Bool {
        path.split(separator: ".").last.map { sourceExtensions.contains($0.lowercased()) } ?? false
    }

    /// Returns whether the file defines how the backend is started or which packages it depends on.
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

    private mutating func recordMentionedProviders(in text: String) {
        for provider in Services.providers {
            if provider.exclusiveHosts.contains(where: text.contains)
                || provider.hints.packages.contains(where: packages.contains)
            {
                calledProviders.insert(provider.party)
            }
            // A provider name of up to four letters also occurs within unrelated words, so it is
            // ignored.
            let environmentVariableNameParts = provider.hints.environmentVariableNameParts.map {
                $0.lowercased()
            }
            .filter { $0.count > 4 }
            if (environmentVariableNameParts + provider.exclusiveHosts).contains(
                where: text.contains
            ) {
                mentionedProviders.insert(provider.party)
            }
        }
    }

    private mutating func readManifest(_ file: File) {
        let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
        let isInTopFolder = !file.path.contains("/")
        switch name {
        case "package.json": readNodePackage(file, isInTopFolder: isInTopFolder)
        case "requirements.txt", "pyproject.toml", "Gemfile", "go.mod", "Cargo.toml":
            packages.formUnion(
                file.text.lowercased().split {
                    !($0.isLetter || $0.isNumber || "-_./".contains($0))
                }
                .map(String.init)
            )
            guard isInTopFolder else { return }
            if name == "go.mod" { commands.append("go run .") }
            if name == "Cargo.toml" { commands.append("cargo run") }
        case "Procfile" where isInTopFolder: readProcfile(file)
        case "manage.py" where isInTopFolder:
            commands.append("python manage.py runserver --noreload {{port}}")
        case "config.ru" where isInTopFolder: commands.append("bundle exec rackup -p {{port}}")
        case _ where ComposeServices.names.contains(name) && isInTopFolder:
            let services = ComposeServices(file.text)
            composeCommands += services.commands
            for (name, value, line) in services.variables {
                let location = "\(file.path):\(line)"
                variables.append(Variable(name: name, fallback: value, location: location))
            }
        case ".env.example", ".env.sample": readVariableExamples(file)
        default:
            // A Python program that consists of one file in the top folder.
            if isInTopFolder, name.hasSuffix(".py") { readPythonProgram(file, name) }
        }
    }

    private mutating func readNodePackage(_ file: File, isInTopFolder: Bool) {
        guard let object = JSONValue(ifValid: Array(file.text.utf8)) else { return }
        for key in ["dependencies", "devDependencies"] {
            packages.formUnion(object[key]?.object?.members.map { $0.key.lowercased() } ?? [])
        }
        guard isInTopFolder else { return }
        if let script = object["scripts"]?["start"]?.string {
            // A script that only calls node runs without npm, because npm would not pass on
            // signals.
            commands.append(script.hasPrefix("node ") ? script : "npm start")
        } else if let main = object["main"]?.string {
            commands.append("node \(main)")
        }
    }

    private mutating func readProcfile(_ file: File) {
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
    }

    private mutating func readVariableExamples(_ file: File) {
        for line in file.text.split(separator: "\n") {
            guard let equalsIndex = line.firstIndex(of: "="), !line.hasPrefix("#") else {
                continue
            }
            let name = line[..<equalsIndex].trimmed
            let value = line[line.index(after: equalsIndex)...].trimmed
            variables.append(
                Variable(name: name, fallback: value.isEmpty ? nil : value, location: file.path)
            )
        }
    }

    private mutating func readPythonProgram(_ file: File, _ name: String) {
        let module = name.dropLast(3)
        if file.text.contains("FastAPI(") {
            commands.append("python -m uvicorn \(module):app --port {{port}}")
        } else if file.text.contains("app.run(") {
            commands.append("python \(name)")
        } else if file.text.contains("Flask(") {
            commands.append("python -m flask --app \(module) run --port {{port}}")
        }
    }

    // MARK: Lines

    private mutating func read(variablesOf line: String, _ location: String) {
        guard line.lowercased().contains("env") else { return }
        let patterns = [
            #"process\.env\.([A-Z][A-Z0-9_]{2,})"#, #"process\.env\[\s*["'`]([A-Z][A-Z0-9_]{2,})"#,
            #"environ(?:\.get\(|\[)\s*["']([A-Z][A-Z0-9_]{2,})"#,
            #"(?i:getenv)\(\s*["']([A-Z][A-Z0-9_]{2,})"#,
            #"ENV(?:\.fetch\(|\[)\s*["']([A-Z][A-Z0-9_]{2,})"#,
            #"(?i:\w*env\w*)\(\s*["']([A-Z][A-Z0-9_]{2,})"#,
            #"env\.get\(\s*["']([A-Z][A-Z0-9_]{2,})"#,
        ]
        for pattern in patterns {
            for match in Self.captures(pattern, line) {
                // The default value follows the name in quotation marks: `|| 'x'`, `?? "x"`, `,
                // "x")`.
                let textAfterName =
                    line.firstRange(of: match[0]).map { String(line[$0.upperBound...]) } ?? ""
                let fallback = Self.captures(
                    #"^["'\]\)]*\s*(?:\|\||\?\?|,|or)\s*["'`]([^"'`]*)["'`]"#,
                    textAfterName
                ).first?[0]
                variables.append(Variable(name: match[0], fallback: fallback, location: location))
            }
        }
    }

    /// Returns whether a line of code reads an environment variable by a computed name:
    /// `process.env[name]`.
    private static func readsComputedVariable(_ line: String) -> Bool {
        guard line.lowercased().contains("env") else { return false }
        let pattern =
            #"process\.env\[\s*[a-z_]|environ(?:\.get\(|\[)\s*[a-z_]|(?i:getenv)\(\s*[a-z_]|ENV(?:\.fetch\(|\[)\s*[a-z_]"#
        return !captures("(" + pattern + ")", line).isEmpty
    }

    /// Finds names of environment variables that the code passes to one of its functions:
    /// `required('API_KEY')`.
    private mutating func read(namesIn line: String, _ location: String) {
        let pattern = #"\w+\(\s*["'`]([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)["'`]"#
        for match in Self.captures(pattern, line) {
            variables.append(Variable(name: match[0], fallback: nil, location: location))
        }
    }

    private mutating func read(hostsOf line: String, _ location: String) {
        guard line.contains("://") else { return }
        // A host in such a line may be only the default value of an environment variable, so the
        // backend may not be fixed to it.
        let isFallback =
            line.contains("process.env") || line.contains("environ") || line.contains("etenv")
            || line.contains("ENV")
        guard !isFallback else { return }
        for match in Self.captures(#"https?://([A-Za-z0-9.-]+\.[a-z]{2,})"#, line) {
            fixedHosts.append(FixedHost(host: match[0].lowercased(), location: location))
        }
    }

    /// Returns the strings that the groups of a regular expression captured, one list for each
    /// match.
    ///
    /// The string is empty for a group that captured nothing.
    static func captures(_ pattern: String, _ text: String) -> [[String]] {
        guard let expression = RegexCache.expression(pattern) else { return [] }
        let nsText = text as NSString
        let range = NSRange(location: 0, length: nsText.length)
        return expression.matches(in: text, range: range).map { match in
            (1..<match.numberOfRanges).map { group in
                let found = match.range(at: group)
                return found.location == NSNotFound ? "" : nsText.substring(with: found)
            }
        }
    }
}

/// A cache of compiled regular expressions.
private enum RegexCache {
    private static let known = Locked<[String: NSRegularExpression]>([:])

    static func expression(_ pattern: String) -> NSRegularExpression? {
        known.withLock { known in
            if let expression = known[pattern] { return expression }
            // The patterns are constants that compile.
            let expression = try? NSRegularExpression(pattern: pattern)
            known[pattern] = expression
            return expression
        }
    }
}

extension Sequence {
    /// Returns the elements, but only the first of those with the same key.
    func uniqued<Key: Hashable>(by key: (Element) -> Key) -> [Element] {
        var known: Set<Key> = []
        return filter { known.insert(key($0)).inserted }
    }
}

extension Sequence where Element: Hashable {
    func uniqued() -> [Element] { uniqued(by: \.self) }
}

extension StringProtocol {
    /// The string without whitespace at its beginning and its end.
    var trimmed: String {
        var text = Substring(self)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
