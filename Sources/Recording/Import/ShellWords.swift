internal import Values

/// Splits commands into words as a shell does, with quotes, backslashes and continued lines.
///
/// The values of shell variables and the output of other commands are unknown. A command that uses
/// them is an error, so that it never becomes a different request.
enum ShellWords {
    /// A command of the file, and the line on which it begins.
    struct Command: Hashable {
        var line: Int
        var words: [String]
    }

    /// Splits the commands of a file, according to the rules of POSIX shells or of cmd.exe.
    static func commands(_ text: String) throws(RecordingError) -> [Command] {
        isForWindows(text) ? windowsCommands(text) : try posixCommands(text)
    }

    /// Returns whether a file uses carets as cmd.exe does, for example after "copy as cURL (cmd)"
    /// in a browser.
    private static func isForWindows(_ text: String) -> Bool {
        text.contains("^\"")
            || text.exactLines.contains { $0.hasSuffix(" ^") || $0.hasSuffix(" ^\r") }
    }

    // MARK: POSIX, and bash's $'…'

    private static func posixCommands(_ text: String) throws(RecordingError) -> [Command] {
        var reader = PosixReader(text)
        try reader.read()
        return reader.commands
    }

    private struct PosixReader {
        // The reader processes code points, because a quote followed by a combining mark is still a
        // quote.
        private var remainingScalars: ArraySlice<Unicode.Scalar>
        private(set) var commands: [Command] = []
        private var line = 1
        private var start = 1
        private var words: [String] = []
        private var word: String?
        /// The current word with every quoted character replaced by a letter, to find shell syntax
        /// outside of quotes.
        private var unquotedWord = ""
        /// Whether the next word is the target of a redirection (`>` or `<`), which is ignored.
        private var isRedirectionTarget = false
        /// Whether the following words belong to a command after a pipe (`|`), which is ignored.
        private var isAfterPipe = false

        init(_ text: String) { remainingScalars = Array(text.unicodeScalars)[...] }

        private func makeError(_ line: Int, _ problem: String, _ remedy: String) -> RecordingError {
            RecordingError(line: line, problem: problem, remedy: remedy)
        }

        private mutating func consume() -> Unicode.Scalar? {
            guard let scalar = remainingScalars.popFirst() else { return nil }
            if scalar == "\n" { line += 1 }
            return scalar
        }

        private mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
            guard remainingScalars.first == scalar else { return false }
            _ = consume()
            return true
        }

        private mutating func append(_ scalar: Unicode.Scalar, isQuoted: Bool) {
            word = (word ?? "")
            word?.unicodeScalars.append(scalar)
            unquotedWord.unicodeScalars.append(isQuoted ? "q" : scalar)
        }

        private mutating func endWord() throws(RecordingError) {
            defer { (word, unquotedWord) = (nil, "") }
            guard let word else { return }
            if isRedirectionTarget {
                isRedirectionTarget = false
                return
            }
            if isAfterPipe { return }
            if Self.hasBraceExpansion(unquotedWord) {
                throw makeError(
                    line,
                    "a shell expands '\(word)' to several words",
                    "Put the word in single quotes, or write the words separately."
                )
            }
            words.append(word)
        }

        private mutating func endCommand() throws(RecordingError) {
            try endWord()
            if !words.isEmpty { commands.append(Command(line: start, words: words)) }
            (words, isRedirectionTarget, isAfterPipe) = ([], false, false)
            start = line
        }

        /// Returns whether a word contains an unquoted brace expansion: `{a,b}` or `{1..3}`.
        private static func hasBraceExpansion(_ unquotedWord: String) -> Bool {
            for part in unquotedWord.split(separator: "{").dropFirst(
                unquotedWord.hasPrefix("{") ? 0 : 1
            ) {
                guard let end = part.firstIndex(of: "}") else { continue }
                let braceContent = part[..<end]
                if braceContent.contains(",") || braceContent.contains("..") { return true }
            }
            return false
        }

        mutating func read() throws(RecordingError) {
            while let scalar = consume() {
                if words.isEmpty, word == nil, scalar != "\n" { start = line }
                switch scalar {
                case "\n", ";": try endCommand()
                case "&":
                    _ = consume("&")
                    try endCommand()
                case "|":
                    if consume("|") {
                        try endCommand()
                    } else {
                        try endWord()
                        isAfterPipe = true
                    }
                case "<", ">": try redirect(scalar)
                case "(", ")", "`": throw substitutionError()
                case "\\": readEscape()
                case "#" where word == nil:
                    while let next = remainingScalars.first, next != "\n" { _ = consume() }
                case "'": try readQuote(line)
                case "\"": try readDoubleQuote(line)
                case "$": try readDollar()
                case " ", "\t", "\r", "\u{b}", "\u{c}": try endWord()
                default: append(scalar, isQuoted: false)
                }
            }
            try endCommand()
        }

        private mutating func redirect(_ scalar: Unicode.Scalar) throws(RecordingError) {
            if scalar == "<", remainingScalars.first == "<" || remainingScalars.first == "(" {
                throw substitutionError()
            }
            // The number in `2>` is a file descriptor, not a word.
            if let word, word.allSatisfy(\.isNumber) { (self.word, unquotedWord) = (nil, "") }
            try endWord()
            while let next = remainingScalars.first, [">", "&", "|"].contains(next) {
                _ = consume()
            }
            isRedirectionTarget = true
        }

        private func substitutionError() -> RecordingError {
            makeError(
                line,
                "a shell substitutes an unknown value for a variable or a command",
                "Put the variable or command in single quotes, or write its value."
            )
        }

        private mutating func readEscape() {
            if remainingScalars.first == "\r", remainingScalars.dropFirst().first == "\n" {
                _ = consume()
            }
            guard let next = consume(), next != "\n" else { return }
            append(next, isQuoted: true)
        }

        private mutating func readQuote(_ openingLine: Int) throws(RecordingError) {
            word = word ?? ""
            while let next = consume() {
                if next == "'" { return }
                append(next, isQuoted: true)
            }
            throw makeError(openingLine, "a single quote is not closed", "Add the closing quote.")
        }

        private mutating func readDoubleQuote(_ openingLine: Int) throws(RecordingError) {
            word = word ?? ""
            while let next = consume() {
                switch next {
                case "\"": return
                case "`": throw substitutionError()
                case "$" where startsVariableName(remainingScalars.first): throw substitutionError()
                case "\\":
                    guard let escaped = consume() else { break }
                    if escaped == "\n" { continue }
                    if !["$", "`", "\"", "\\"].contains(escaped) { append("\\", isQuoted: true) }
                    append(escaped, isQuoted: true)
                default: append(next, isQuoted: true)
                }
            }
            throw makeError(openingLine, "a double quote is not closed", "Add the closing quote.")
        }

        /// Returns whether a `$` before the character starts a shell expansion, such as `$NAME`.
        private func startsVariableName(_ scalar: Unicode.Scalar?) -> Bool {
            guard let scalar else { return false }
            return scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                || "_{(@*#?!$-".unicodeScalars.contains(scalar)
        }

        private mutating func readDollar() throws(RecordingError) {
            if remainingScalars.first == "'" {
                let openingLine = line
                _ = consume()
                return try readANSIQuote(openingLine)
            }
            // `$"…"` is the same as `"…"`, because no translation exists.
            if remainingScalars.first == "\"" { return }
            if startsVariableName(remainingScalars.first) { throw substitutionError() }
            append("$", isQuoted: false)
        }

        // MARK: $'…'

        private mutating func readANSIQuote(_ openingLine: Int) throws(RecordingError) {
            word = word ?? ""
            // Several escaped bytes may encode one character.
            var bytes: [UInt8] = []
            while let next = consume() {
                if next == "'" {
                    guard let text = String(validating: bytes, as: UTF8.self) else {
                        throw makeError(openingLine, "the quoted bytes are not UTF-8", "Use UTF-8.")
                    }
                    for scalar in text.unicodeScalars { append(scalar, isQuoted: true) }
                    return
                }
                if next == "\\" {
                    bytes += escapedBytes()
                } else {
                    bytes += String(next).utf8
                }
            }
            throw makeError(openingLine, "a single quote is not closed", "Add the closing quote.")
        }

        private mutating func escapedBytes() -> [UInt8] {
            let byteByEscapeCharacter: [Unicode.Scalar: UInt8] = [
                "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "e": 27, "E": 27,
            ]
            guard let escapeCharacter = consume() else { return [UInt8(ascii: "\\")] }
            if let byte = byteByEscapeCharacter[escapeCharacter] { return [byte] }
            switch escapeCharacter {
            case "x":
                return number(16, 2).map { [UInt8(truncatingIfNeeded: $0)] } ?? Array("\\x".utf8)
            case "u", "U":
                let word = "\\" + String(escapeCharacter)
                return number(16, escapeCharacter == "u" ? 4 : 8).map { value in
                    Unicode.Scalar(value).map { Array(String($0).utf8) } ?? Array("\u{fffd}".utf8)
                } ?? Array(word.utf8)
            case "0"..."7":
                let first = escapeCharacter.value - 48
                let parsedValue = number(8, 2, startingWith: first) ?? first
                return [UInt8(truncatingIfNeeded: parsedValue)]
            case "\\", "'", "\"", "?": return Array(String(escapeCharacter).utf8)
            default: return Array(("\\" + String(escapeCharacter)).utf8)
            }
        }

        /// Reads a number with at most `countMax` digits of the given radix; nil when there is no
        /// digit.
        private mutating func number(
            _ radix: UInt32,
            _ countMax: Int,
            startingWith start: UInt32? = nil
        ) -> UInt32? {
            var value = start
            for _ in 0..<countMax {
                guard let next = remainingScalars.first,
                    let digit = Character(next).hexDigitValue.map(UInt32.init), digit < radix
                else { break }
                _ = consume()
                value = (value ?? 0) &* radix &+ digit
            }
            return value
        }
    }

    // MARK: cmd.exe

    private static func windowsCommands(_ text: String) -> [Command] {
        var commands: [Command] = []
        var remainingScalars = Array(text.replacing("\r\n", with: "\n").unicodeScalars)[...]
        var (line, start, isQuoted) = (1, 1, false)
        var commandText = String.UnicodeScalarView()
        func end() {
            let words = windowsArguments(commandText)
            if !words.isEmpty { commands.append(Command(line: start, words: words)) }
            commandText = String.UnicodeScalarView()
            isQuoted = false
            start = line
        }
        while let scalar = remainingScalars.popFirst() {
            switch scalar {
            case "^" where !isQuoted:
                guard var next = remainingScalars.popFirst() else { break }
                if next == "\n" {
                    line += 1
                    // The character after a continued line is literal, even another line break.
                    guard let characterAfterBreak = remainingScalars.popFirst() else { break }
                    next = characterAfterBreak
                    if next == "\n" { line += 1 }
                    if next == " " || next == "^" {
                        remainingScalars = [next] + remainingScalars
                        break
                    }
                }
                commandText.append(next)
            case "\"":
                isQuoted.toggle()
                commandText.append(scalar)
            case "\n":
                line += 1
                end()
            case "&" where !isQuoted: end()
            default: commandText.append(scalar)
            }
        }
        end()
        return commands
    }

    /// Splits a command line into words as Windows programs do.
    private static func windowsArguments(_ text: String.UnicodeScalarView) -> [String] {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var isQuoted = false
        var backslashCount = 0
        var remainingScalars = text[...]
        func append(_ scalar: Unicode.Scalar, _ count: Int = 1) {
            var extendedWord = word ?? String.UnicodeScalarView()
            extendedWord.append(contentsOf: repeatElement(scalar, count: count))
            word = extendedWord
        }
        while let scalar = remainingScalars.popFirst() {
            if scalar == "\\" {
                backslashCount += 1
                continue
            }
            // Backslashes are escapes only before a quote.
            let isEscaped = scalar == "\"" && backslashCount % 2 == 1
            if backslashCount > 0 {
                append("\\", scalar == "\"" ? backslashCount / 2 : backslashCount)
            }
            backslashCount = 0
            switch scalar {
            case "\"" where isEscaped: append("\"")
            case "\"" where isQuoted && remainingScalars.first == "\"":
                remainingScalars.removeFirst()
                append("\"")
            case "\"":
                isQuoted.toggle()
                word = word ?? String.UnicodeScalarView()
            case " ", "\t":
                if isQuoted {
                    append(scalar)
                } else if let finishedWord = word {
                    words.append(String(finishedWord))
                    word = nil
                }
            default: append(scalar)
            }
        }
        if backslashCount > 0 { append("\\", backslashCount) }
        if let word { words.append(String(word)) }
        return words
    }
}
