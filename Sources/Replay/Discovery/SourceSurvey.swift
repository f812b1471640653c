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
        /// Whether the code of the route names a registration or a password.
        package var namesRegistration = false
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
    /// The values in files such as `.env.example`, by the name of the variable.
    package private(set) var exampleValues: [String: String] = [:]
    /// The lowercase names of the packages that the backend depends on.
    package private(set) var packages: Set<String> = []
    /// Whether the code puts `Bearer` before a variable, probably to compare the result with a
    /// header.
    package private(set) var prependsBearer = false
    /// The providers (services for which Assay has a fake) that any of the files mentions.
    package private(set) var mentionedProviders: Set<Exchange.Party> = []
    /// The providers whose host name or package name occurs in any of the files.
    package private(set) var calledProviders: Set<Exchange.Party> = []
    /// The entitlements that the code compares with those of an event.
    private(set) var entitlementUses = EntitlementUses()
    /// The IDs of products that the code or a file with settings names.
    private(set) var productUses = ProductUses()
    /// The headers in which the code reads the session of a user.
    private(set) var sessionHeaders = SessionHeaders()
    /// The project whose ID tokens the backend accepts, from a key file; nil if no file names it.
    private(set) var tokenProject: String?
    /// Whether any source code was found.
    package private(set) var hasCode = false
    /// Whether the code computes an HMAC to sign or verify data.
    package private(set) var usesHMAC = false
    /// Whether the backend loads a `.env` file itself.
    package private(set) var loadsEnvironmentFile = false

    /// Whether a line of code verifies an ID token, and not one of Google or Apple.
    private var callsTokenVerifier = false

    private let sources: [SourceText]

    package init(_ files: [File]) { self.init(searched: files.map(SurveyedFile.init)) }

    /// Collects the facts about files that are already searched.
    init(searched files: [SurveyedFile]) {
        sources = files.map(\.source)
        for file in files {
            readManifest(file.file)
            mentionedProviders.formUnion(file.mentionedProviders)
            calledProviders.formUnion(file.calledProviders)
            fixedHosts += file.fixedHosts
            entitlementUses.add(file.entitlementUses)
            productUses.add(file.productUses)
            sessionHeaders.add(file.sessionHeaders)
            hasCode = hasCode || file.isSource
            usesHMAC = usesHMAC || file.usesHMAC
            loadsEnvironmentFile = loadsEnvironmentFile || file.loadsEnvironmentFile
            prependsBearer = prependsBearer || file.prependsBearer
        }
        for provider in Services.providers
        where provider.hints.packages.contains(where: packages.contains) {
            calledProviders.insert(provider.party)
        }
        callsTokenVerifier = files.contains { $0.isSource && $0.source.callsTokenVerifier }
        routes = RouteSurvey(files).routes
        variables = VariableSurvey(files, listed: variables).variables
        fixedHosts = fixedHosts.uniqued()
    }

    /// Finds the uses of the secrets that environment variables hold.
    func secretUses() -> SecretUses { SecretUses(sources, variables) }

    /// Whether the backend verifies ID tokens, with the package of a token issuer or with its own
    /// code.
    ///
    /// A package of a token issuer alone shows nothing, because it may only send pushes.
    package var usesTokens: Bool {
        verifiesTokensItself
            || callsTokenVerifier
                && tokenIssuers.contains { provider in
                    packages.contains { name in
                        provider.hints.packages.contains { name.contains($0) }
                    }
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

    static let sourceExtensions: Set<String> = [
        "js", "cjs", "mjs", "ts", "mts", "tsx", "jsx", "py", "go", "rb", "php", "java", "kt",
        "swift",
        "cs", "rs", "ex", "exs", "dart",
    ]

    /// Returns whether a file contains source code, according to its extension.
    package static func isSource(_ path: String) -> Bool {
        path.split(separator: ".").last.map { sourceExtensions.contains($0.lowercased()) } ?? false
    }

    /// The names of files that show how a backend is started, which packages it depends on, or
    /// which routes and variables it has.
    private static let manifestNames: Set<String> = ComposeServices.names.union([
        "package.json", "requirements.txt", "pyproject.toml", "Pipfile", "Procfile", "go.mod",
        "Gemfile", "Cargo.toml", "composer.json", "config.ru", "Package.swift", "mix.exs",
        "pom.xml", "build.gradle", "build.gradle.kts", "deno.json", "deno.jsonc", "wrangler.toml",
        "Dockerfile", "Makefile", "GNUmakefile", "makefile", "render.yaml", "render.yml",
        "railway.json", "railway.toml", "nixpacks.toml", "app.yaml", "application.yml",
        "application.yaml", "application.properties", "README.md", "readme.md", "run.sh",
        "start.sh",
        "serve.sh", "server.sh",
    ])

    /// The names of files of which only the existence matters.
    private static let markerNames: Set<String> = [
        "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "uv.lock", "poetry.lock", "mvnw",
        "gradlew", "artisan", "rails",
    ]

    /// Returns whether the file shows how the backend is started, which packages it depends on, or
    /// which routes and variables it has.
    package static func isManifest(_ path: String) -> Bool {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return manifestNames.contains(name) || name.hasSuffix(".csproj") || isVariableExample(name)
            || TokenProject.mayBeNamed(inFile: name) || ProductUses.mayBeListed(inFile: name)
    }

    /// Returns whether only the existence of the file matters, and not its content.
    package static func isMarker(_ path: String) -> Bool {
        markerNames.contains(path.split(separator: "/").last.map(String.init) ?? path)
    }

    /// Returns whether a file lists environment variables with example values.
    private static func isVariableExample(_ name: String) -> Bool {
        guard name.contains("env") else { return false }
        return ["example", "sample", "template", "demo", "dist"].contains {
            name.lowercased().split { !$0.isLetter }.map(String.init).contains($0)
        }
    }

    private mutating func readManifest(_ file: File) {
        let name = file.path.split(separator: "/").last.map(String.init) ?? file.path
        switch name {
        case "package.json":
            guard let object = JSONValue(ifValid: Array(file.text.utf8)) else { return }
            for key in ["dependencies", "devDependencies"] {
                packages.formUnion(object[key]?.object?.members.map { $0.key.lowercased() } ?? [])
            }
        case "requirements.txt", "pyproject.toml", "Gemfile", "go.mod", "Cargo.toml":
            packages.formUnion(
                file.text.lowercased().split {
                    !($0.isLetter || $0.isNumber || "-_./".contains($0))
                }
                .map(String.init)
            )
        case _ where ComposeServices.names.contains(name):
            for (name, value, line) in ComposeServices(file.text).variables {
                let location = "\(file.path):\(line)"
                variables.append(Variable(name: name, fallback: value, location: location))
            }
        case _ where Self.isVariableExample(name): readVariableExamples(file)
        default: tokenProject = tokenProject ?? TokenProject.id(in: file)
        }
    }

    private mutating func readVariableExamples(_ file: File) {
        for line in file.text.split(separator: "\n") {
            guard let equalsIndex = line.firstIndex(of: "="), !line.hasPrefix("#") else {
                continue
            }
            let name = line[..<equalsIndex].trimmed
            let value = line[line.index(after: equalsIndex)...].trimmed
            if !value.isEmpty {
                exampleValues[name] = value.trimmingCharacters(
                    in: CharacterSet(charactersIn: "\"'")
                )
            }
            variables.append(
                Variable(name: name, fallback: value.isEmpty ? nil : value, location: file.path)
            )
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
    package func uniqued() -> [Element] { uniqued(by: \.self) }
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
