internal import Foundation
internal import Providers
internal import Values

/// Finds the uses of the secrets that environment variables hold.
///
/// The search follows the names to which the code assigns a value, through the files of the
/// backend.
struct SecretUses: Sendable {
    /// A use of a secret, which decides about the value of its variable.
    enum Kind: Int, Comparable, Sendable {
        /// The backend computes a signature with the secret.
        case signing
        /// The backend compares the secret with the header of a request that it receives.
        case authorization
        /// The backend sends the secret to an API.
        case key

        static func < (first: Self, second: Self) -> Bool { first.rawValue < second.rawValue }
    }

    /// The kind of use of each variable; variables without a known use are missing.
    private(set) var kinds: [String: Kind] = [:]
    /// The only service for which Assay has a fake in the files that use the variable.
    private(set) var parties: [String: Exchange.Party] = [:]

    /// A name that holds the value of a variable.
    private struct Alias: Hashable {
        let name: String
        let variable: String
        /// The index of the only file in which the name holds the value; nil: all files.
        let file: Int?
    }

    /// Names that hold other values in other files.
    private static let commonNames: Set<String> = [
        "secret", "key", "token", "auth", "expected", "value", "apikey", "header", "authorization",
        "password", "signature", "want", "api_key",
    ]
    /// The largest number of lines after a local assignment in which the new name is followed.
    private static let localLineCountMax = 15
    private static let variableCountMax = 60

    /// A word without which a file uses no secret in a known way.
    private static let relevantFile: Pattern =
        #"(?i)authorization|hmac|signature|bearer|secretkey|withtoken|basic_auth"#

    init(_ sources: [SourceText], _ variables: [SourceSurvey.Variable]) {
        let names = variables.map(\.name).filter(Self.mayBeSecret).prefix(Self.variableCountMax)
        guard !names.isEmpty else { return }
        let code = sources.filter {
            SourceSurvey.isSource($0.path)
                || SourceSurvey.isManifest($0.path)
                    && !$0.path.hasSuffix(".md")
        }
        let aliases = Self.aliases(of: Array(names), in: code)
        for (index, source) in code.enumerated()
        where SourceSurvey.isSource(source.path) && source.matches(Self.relevantFile).first != nil {
            read(source, aliases.filter { $0.file == nil || $0.file == index })
        }
    }

    private static func mayBeSecret(_ name: String) -> Bool {
        let parts = EnvironmentGuess.parts(of: name)
        return !parts.isDisjoint(with: EnvironmentGuess.secretWords)
            || !parts.isDisjoint(with: EnvironmentGuess.webhookWords)
            || !parts.isDisjoint(with: EnvironmentGuess.signingWords)
    }

    // MARK: Names

    /// The name to which the text before a value is assigned: `NAME = `, `"name" => `, `name: T = `.
    private static let assignedName: Pattern =
        #"(?<name>[A-Za-z_][\w-]*)["'`]?\]?\s*(?::\s*[\w\[\]|?.]+(?:\s*\|\s*\w+)*\s*=|:=|=>|=|:)\s*[^=,;{}]*$"#
    /// The name of the function that contains the text: `def name`, `func name() string {`.
    private static let functionName: Pattern =
        #"\b(?:def|function|func|fn|fun)\s+(?:self\.)?(?<name>[A-Za-z_]\w*)[^\n]*$|\bconst\s+(?<name>\w+)\s*=\s*\([^\n]*=>\s*\{?\s*$"#
    /// The field to which a framework assigns a value that an annotation names.
    private static let annotatedName: Pattern =
        #"@Value\([^\n]*\)\s*(?:(?:private|public|final|val|var|lateinit|static|String)\s+)*(?<name>\w+)"#

    private static func aliases(of names: [String], in sources: [SourceText]) -> [Alias] {
        var aliases = names.flatMap { name in
            [name, name.lowercased(), name.replacing("__", with: ":")].uniqued().map {
                Alias(name: $0, variable: name, file: nil)
            }
        }
        var newNames = aliases
        // A configuration file and the code that reads it may each give the value a name.
        for _ in 0..<2 {
            let pattern = Self.pattern(newNames.map(\.name))
            var found: [Alias] = []
            for (index, source) in sources.enumerated() {
                for match in source.matches(pattern) {
                    let variables = newNames.filter {
                        $0.name == match["name"] && ($0.file == nil || $0.file == index)
                    }.map(\.variable)
                    guard let variable = variables.first,
                        let name = assignedName(in: source, at: match.line, before: match.text)
                    else { continue }
                    let isLocal = commonNames.contains(name.lowercased())
                    found.append(
                        Alias(name: name, variable: variable, file: isLocal ? index : nil)
                    )
                }
            }
            let known = Set(aliases)
            newNames = found.uniqued().filter { !known.contains($0) && $0.name.count > 2 }
            aliases += newNames
            guard !newNames.isEmpty else { break }
        }
        return unambiguous(aliases)
    }

    /// Returns the names that hold the value of only one variable.
    private static func unambiguous(_ aliases: [Alias]) -> [Alias] {
        aliases.filter { alias in
            alias.name == alias.variable
                || !aliases.contains { other in
                    other.name == alias.name && other.variable != alias.variable
                        && (other.file == nil || alias.file == nil || other.file == alias.file)
                }
        }
    }

    private static func pattern(_ names: [String]) -> Pattern {
        let longestFirst = names.uniqued().sorted { $0.count > $1.count }
        return Pattern(
            stringLiteral: #"(?<![\w-])(?<name>"# + longestFirst.joined(separator: "|")
                + #")(?![\w-])"#
        )
    }

    /// Returns the name to which a line assigns the value with the given text.
    private static func assignedName(
        in source: SourceText,
        at line: Int,
        before text: String
    ) -> String? {
        let content = source.lines[line - 1]
        if content.contains("@Value(") {
            let following = source.lines[(line - 1)..<min(line + 2, source.lines.count)]
            return annotatedName.first("name", in: following.joined(separator: " "))
        }
        guard let range = content.firstRange(of: text) else { return nil }
        // The beginning of a string with an inserted value: `"Bearer ${`.
        let before = String(content[..<range.lowerBound]).replacing(#/["'`][^"'`]*\{/#, with: "")
        // A comparison and a call that signs or sends assign another value.
        guard use(in: content, around: content, of: text) == nil else { return nil }
        if let name = assignedName.first("name", in: before) { return name }
        let previous = line > 1 ? source.lines[line - 2] : ""
        return functionName.first("name", in: before) ?? functionName.first("name", in: previous)
    }

    // MARK: Uses

    private mutating func read(_ source: SourceText, _ aliases: [Alias]) {
        guard !aliases.isEmpty else { return }
        let variables = Dictionary(
            aliases.map { ($0.name, $0.variable) },
            uniquingKeysWith: { first, _ in first }
        )
        let matches = source.matches(Self.pattern(aliases.map(\.name)))
        var party: Exchange.Party??
        for match in matches {
            guard let name = match["name"], let variable = variables[name] else { continue }
            var kind = Self.use(in: source, at: match.line, of: name)
            if kind == nil, let local = Self.localName(in: source, at: match.line, name) {
                let lines =
                    match
                    .line..<min(
                        match.line + Self.localLineCountMax,
                        source.lines.count
                    )
                let word = Self.pattern([local])
                kind = lines.filter { word.occurs(in: source.lines[$0]) }
                    .compactMap { Self.use(in: source, at: $0 + 1, of: local) }.min()
            }
            guard let kind else { continue }
            kinds[variable] = min(kind, kinds[variable] ?? kind)
            if party == nil { party = .some(Self.onlyParty(in: source.text)) }
            if let party = party ?? nil { parties[variable] = parties[variable] ?? party }
        }
    }

    /// Returns the local name to which a line assigns the value.
    private static func localName(in source: SourceText, at line: Int, _ name: String) -> String? {
        assignedName(in: source, at: line, before: name).flatMap { $0 == name ? nil : $0 }
    }

    /// Returns the only service whose host a file contains, or whose name if it contains none.
    private static func onlyParty(in text: String) -> Exchange.Party? {
        let lowercaseText = text.lowercased()
        let byHost = Services.providers.filter { provider in
            provider.exclusiveHosts.contains(where: lowercaseText.contains)
        }
        let byName = Services.providers.filter { lowercaseText.contains("\($0.party)") }
        let found = byHost.isEmpty ? byName : byHost
        return found.count == 1 ? found[0].party : nil
    }

    /// Ends of lines that continue on the next line.
    private static let openEnd: Pattern = #"(?:[(,\[+?:=.|&]|=>)\s*$"#

    private static func use(in source: SourceText, at line: Int, of name: String) -> Kind? {
        let lines = source.lines
        var first = line - 1
        while first > 0, line - 1 - first < 3, openEnd.occurs(in: lines[first - 1]) { first -= 1 }
        var last = line - 1
        while last + 1 < lines.count, last - line < 2, openEnd.occurs(in: lines[last]) { last += 1 }
        let around = lines[max(0, first - 8)..<min(lines.count, last + 9)]
        return use(
            in: lines[first...last].joined(separator: "\n"),
            around: around.joined(separator: "\n"),
            of: name
        )
    }

    private static let signature: Pattern =
        #"(?i)createhmac|hmac\.new|hash_hmac|hmacsha|openssl::hmac|getinstance\("hmac|hmac<|hmac::|:crypto\.mac\(|["']hmac["']|secretkeyspec|importkey\(|\b\w*(?:signature|signed|hmac)\w*\s*\("#
    private static let comparison: Pattern =
        #"(?i)[=!]==?|compare|timingsafeequal|hash_equals|isequal|\.equals?\(|fixedtimeequals|same\w*\(|equal\w*\("#
    /// Comparisons that only find out whether a value exists.
    private static let existence: Pattern =
        #"(?i)\s*[=!]==?\s*(?:""|''|nil|null|none|undefined|0)|\.equals\(""\)"#
    private static let headerRead: Pattern =
        #"(?i)(?:headers?|get|fetch|first|getheader|header_string|bearertoken|http_authorization)\b[^\n]{0,6}authorization\b|headers?\.authorization\b|http_authorization"#
    private static let headerWrite: Pattern =
        #"(?i)["'`]authorization["'`]\s*(?:\]\s*=(?!=)|:|=>|,\s*(?!""|''|none|null|nil|default))|\bauthorization\s*:|withtoken\(|bearerauth\(|bearer_auth\(|bearerauthorization|(?:basic_auth|auth)\s*=\s*\("#
    private static let headerWord: Pattern = #"(?i)authorization|bearer|header"#

    /// Returns the use of a value in a statement.
    private static func use(in statement: String, around text: String, of name: String) -> Kind? {
        if signature.occurs(in: statement) { return .signing }
        let compared = existence.expression.stringByReplacingMatches(
            in: statement,
            range: .init(location: 0, length: statement.utf16.count),
            withTemplate: ""
        )
        let isCompared = comparison.occurs(in: compared)
        if headerRead.occurs(in: statement), isCompared || !headerWrite.occurs(in: statement) {
            return .authorization
        }
        if headerWrite.occurs(in: statement), !isCompared { return .key }
        return isCompared && headerWord.occurs(in: text) ? .authorization : nil
    }
}
