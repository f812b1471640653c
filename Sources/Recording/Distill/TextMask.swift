internal import Contracts
internal import Grammar
internal import Values

/// Masks a string that varies between runs: the constant parts stay, and the varying parts become
/// matchers such as `{{any.number}}`.
enum TextMask {
    /// The maximum number of matchers in a masked string.
    ///
    /// A string that would need more matchers is masked as a whole.
    private static let matcherCountMax = 8

    /// A word, a sign or a template name: the smallest unit of a string that is kept or masked.
    private enum Token: Hashable {
        case name(String)
        case word(String)
        case punctuation(Character)

        var text: String {
            switch self {
            case .name(let name): "{{\(name)}}"
            case .word(let word): Template.escaped(word)
            case .punctuation(let punctuation): Template.escaped(String(punctuation))
            }
        }
    }

    /// Masks the varying parts of a string in a golden contract.
    ///
    /// - Parameters:
    ///   - pattern: The string in the new golden contract (the draft).
    ///   - otherTexts: The observed strings that differ from the recording, each with the values of the
    ///     pattern's template names in that run.
    ///   - year: The year of the session. A date near it is masked as one unit.
    ///   - differsInEveryRun: Whether the string differed from the recording in every run. If so, a part
    ///     that is the same in all runs but not as recorded is not noise, and stays.
    /// - Returns: A string that matches the recorded string and all observed strings, except for
    ///   the parts that stay.
    static func masked(
        _ pattern: String,
        _ otherTexts: [(text: String, names: [String: String])],
        around year: Int,
        differsInEveryRun: Bool
    ) -> String {
        let texts = otherTexts.map(\.text)
        if Template(pattern).names.isEmpty, let matcherForAll = matcherForAll([pattern] + texts) {
            return matcherForAll
        }
        let sampleTokens = otherTexts.map { tokens(of: $0.text, $0.names, year) }
        let masked =
            alignedPattern(tokens(of: Template(pattern), year), sampleTokens, differsInEveryRun)
            ?? "{{any.text}}"
        // As the whole value, `{{any.number}}` would match a JSON number, but this is a string.
        return masked == "{{any.number}}" ? "{{any.text}}" : masked
    }

    /// Returns the matcher for the common kind of the strings: `{{any.uuid}}` for UUIDs, or
    /// `{{any.timestamp}}` for dates.
    ///
    /// Returns nil when the strings are of any other kind, or of different kinds.
    private static func matcherForAll(_ texts: [String]) -> String? {
        if texts.allSatisfy(TemplateValues.isUUID) { return "{{any.uuid}}" }
        if texts.allSatisfy({ Instant(timeValue: .string($0)) != nil }) {
            return "{{any.timestamp}}"
        }
        return nil
    }

    // MARK: Alignment

    private static func alignedPattern(
        _ pattern: [Token],
        _ sampleTokens: [[Token]],
        _ differsInEveryRun: Bool
    ) -> String? {
        let all = [pattern] + sampleTokens
        if all.allSatisfy({ $0.count == pattern.count }) {
            let tokenColumns = pattern.indices.map { index in all.map { $0[index] } }
            return joined(tokenColumns.map { matcher($0, differsInEveryRun) })
        }
        // Aligns the parts of a header, sentences or lines separately.
        for separator: Character in ["\n", ";", "&", ","] {
            let parts = all.map {
                $0.split(separator: .punctuation(separator), omittingEmptySubsequences: false)
            }
            guard parts[0].count > 1, parts.allSatisfy({ $0.count == parts[0].count }) else {
                continue
            }
            let masked = parts[0].indices.map { index in
                alignedPattern(
                    Array(parts[0][index]),
                    parts.dropFirst().map { Array($0[index]) },
                    differsInEveryRun
                )
            }
            guard !masked.contains(nil) else { continue }
            return joined(masked.compactMap(\.self), by: String(separator))
        }
        let prefix = pattern.indices.prefix { index in
            sampleTokens.allSatisfy { $0.indices.contains(index) && $0[index] == pattern[index] }
        }.count
        let shortestCount = all.map(\.count).min() ?? 0
        let suffix = (0..<(shortestCount - prefix)).prefix { offsetFromEnd in
            sampleTokens.allSatisfy {
                $0[$0.count - 1 - offsetFromEnd] == pattern[pattern.count - 1 - offsetFromEnd]
            }
        }.count
        let middleTokens = pattern.dropFirst(prefix).dropLast(suffix)
        // A matcher in place of a captured name would also break every later use of the name.
        let containsCapturedName = middleTokens.contains {
            if case .name(let name) = $0 { name.hasPrefix("some.") } else { false }
        }
        let otherVariants = Set(sampleTokens.map { $0.dropFirst(prefix).dropLast(suffix) })
        if containsCapturedName || differsInEveryRun && otherVariants.count == 1 {
            return pattern.map(\.text).joined()
        }
        return joined(
            pattern.prefix(prefix).map(\.text) + ["{{any.text}}"]
                + pattern.suffix(suffix).map(\.text)
        )
    }

    /// Joins the parts of a masked string; nil when the result contains too many matchers.
    private static func joined(_ parts: [String], by separator: String = "") -> String? {
        let text = parts.joined(separator: separator)
        return Template(text).names.count { $0.hasPrefix("any") } > matcherCountMax ? nil : text
    }

    private static func matcher(_ tokenColumn: [Token], _ differsInEveryRun: Bool) -> String {
        let otherVariants = Set(tokenColumn.dropFirst())
        if otherVariants == [tokenColumn[0]] { return tokenColumn[0].text }
        // A template that accepts any value stays: a captured name (`some.…`) or a matcher
        // (`any…`). Any other template becomes `{{any.text}}`.
        if case .name(let name) = tokenColumn[0] {
            return name.hasPrefix("some.") || name.hasPrefix("any")
                ? tokenColumn[0].text : "{{any.text}}"
        }
        if differsInEveryRun, otherVariants.count == 1 { return tokenColumn[0].text }
        let words = tokenColumn.compactMap { if case .word(let word) = $0 { word } else { nil } }
        guard words.count == tokenColumn.count else { return "{{any.text}}" }
        if let matcherForAll = matcherForAll(words) { return matcherForAll }
        return words.allSatisfy { $0.allSatisfy { $0.isASCII && $0.isNumber } }
            ? "{{any.number}}" : "{{any.text}}"
    }

    // MARK: Tokens

    private static func tokens(of template: Template, _ year: Int) -> [Token] {
        template.pieces.flatMap { piece in
            switch piece {
            case .text(let text): tokens(of: text, year)
            case .name(let name): [Token.name(name)]
            }
        }
    }

    /// Returns the tokens of an observed string, in which the known values of templates become
    /// template names.
    private static func tokens(
        of text: String,
        _ names: [String: String],
        _ year: Int
    ) -> [Token] {
        let nonemptyNames = names.filter { !$0.value.isEmpty }
            .sorted { ($1.value.utf8.count, $0.key) < ($0.value.utf8.count, $1.key) }
        var foundTokens: [Token] = []
        var remainingText = text[...]
        var textStart = remainingText.startIndex
        while !remainingText.isEmpty {
            if let (name, value) = nonemptyNames.first(where: { remainingText.hasPrefix($0.value) })
            {
                foundTokens +=
                    tokens(of: String(text[textStart..<remainingText.startIndex]), year) + [
                        .name(name)
                    ]
                remainingText = remainingText.dropFirst(value.count)
                textStart = remainingText.startIndex
            } else {
                remainingText = remainingText.dropFirst()
            }
        }
        return foundTokens + tokens(of: String(text[textStart...]), year)
    }

    private static func tokens(of text: String, _ year: Int) -> [Token] {
        var foundTokens: [Token] = []
        var untokenizedStart = text.startIndex
        for date in DateSpans.all(in: text, around: year) {
            foundTokens +=
                tokens(of: text[untokenizedStart..<date.lowerBound]) + [.word(String(text[date]))]
            untokenizedStart = date.upperBound
        }
        return foundTokens + tokens(of: text[untokenizedStart...])
    }

    private static func tokens(of text: Substring) -> [Token] {
        var foundTokens: [Token] = []
        var remainingText = text
        while let first = remainingText.first {
            // A run of braces is one token, because two braces would otherwise start a template.
            let braces = remainingText.prefix { $0 == "{" }
            if braces.count > 1 {
                foundTokens.append(.word(String(braces)))
                remainingText = remainingText.dropFirst(braces.count)
                continue
            }
            if foundTokens.last != .punctuation("."), let length = timeOfDayLength(remainingText) {
                foundTokens.append(.word(String(remainingText.prefix(length))))
                remainingText = remainingText.dropFirst(length)
                continue
            }
            let wordAndPunctuation = remainingText.prefix {
                $0.isLetter || $0.isNumber || "-:.+".contains($0)
            }
            let word = remainingText.prefix { $0.isLetter || $0.isNumber }
            if matcherForAll([String(wordAndPunctuation)]) != nil {
                foundTokens.append(.word(String(wordAndPunctuation)))
                remainingText = remainingText.dropFirst(wordAndPunctuation.count)
            } else if word.isEmpty {
                foundTokens.append(.punctuation(first))
                remainingText = remainingText.dropFirst()
            } else {
                foundTokens.append(.word(String(word)))
                remainingText = remainingText.dropFirst(word.count)
            }
        }
        return foundTokens
    }

    /// Returns the number of characters of a time of day at the beginning of a string, such as
    /// `7:05` or `01:22:08.25`; nil when there is none.
    private static func timeOfDayLength(_ text: Substring) -> Int? {
        var remainingText = text
        var length = 0
        for componentIndex in 0..<3 {
            if componentIndex > 0 {
                guard remainingText.first == ":" else { break }
                remainingText = remainingText.dropFirst()
            }
            let digits = remainingText.prefix { $0.isASCII && $0.isNumber }
            let isInRange = (Int(digits) ?? .max) < (componentIndex == 0 ? 24 : 60)
            guard isInRange,
                componentIndex == 0 ? (1...2).contains(digits.count) : digits.count == 2
            else {
                return componentIndex == 2 ? length : nil
            }
            remainingText = remainingText.dropFirst(digits.count)
            length += digits.count + (componentIndex > 0 ? 1 : 0)
            if componentIndex == 1, remainingText.first != ":" { break }
        }
        guard length > 3 else { return nil }
        let fraction = remainingText.dropFirst().prefix { $0.isASCII && $0.isNumber }
        return remainingText.first == "." && !fraction.isEmpty
            ? length + 1 + fraction.count : length
    }
}
