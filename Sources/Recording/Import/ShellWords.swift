internal import Conformance

/// Commands as a shell splits them into words: quotes, backslashes, lines that go on.
///
/// What a shell puts in the place of something else (a variable, what another command prints) is not
/// known here, so it is an error and never another request.
enum ShellWords {
    /// One command, and the line on which it begins.
    struct Command: Hashable {
        var line: Int
        var words: [String]
    }

    /// The commands of a file, as the shell that they were copied for reads them.
    static func commands(_ text: String) throws(RecordingError) -> [Command] {
        isForWindows(text) ? windows(text) : try posix(text)
    }

    /// Whether carets do what backslashes do elsewhere, as a browser's "copy as cURL (cmd)" writes.
    private static func isForWindows(_ text: String) -> Bool {
        text.contains("^\"")
            || text.exactLines.contains { $0.hasSuffix(" ^") || $0.hasSuffix(" ^\r") }
    }

    // MARK: POSIX, and bash's $'…'

    private static func posix(_ text: String) throws(RecordingError) -> [Command] {
        var reader = PosixReader(text)
        try reader.read()
        return reader.commands
    }

    private struct PosixReader {
        // One code point at a time: a quote is one, whatever mark follows it.
        private var rest: ArraySlice<Unicode.Scalar>
        private(set) var commands: [Command] = []
        private var line = 1
        private var start = 1
        private var words: [String] = []
        private var word: String?
        /// The word with everything that was quoted as one letter: what the shell itself looks at.
        private var bare = ""
        /// The next word is where output goes or input comes from.
        private var isRedirected = false
        /// What follows reads the command's output.
        private var isPiped = false

        init(_ text: String) { rest = Array(text.unicodeScalars)[...] }

        private func fail(_ line: Int, _ problem: String, _ remedy: String) -> RecordingError {
            RecordingError(line: line, problem: problem, remedy: remedy)
        }

        private mutating func take() -> Unicode.Scalar? {
            guard let scalar = rest.popFirst() else { return nil }
            if scalar == "\n" { line += 1 }
            return scalar
        }

        private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard rest.first == scalar else { return false }
            _ = take()
            return true
        }

        private mutating func append(_ scalar: Unicode.Scalar, isQuoted: Bool) {
            word = (word ?? "")
            word?.unicodeScalars.append(scalar)
            bare.unicodeScalars.append(isQuoted ? "q" : scalar)
        }

        private mutating func endWord() throws(RecordingError) {
            defer { (word, bare) = (nil, "") }
            guard let word else { return }
            if isRedirected {
                isRedirected = false
                return
            }
            if isPiped { return }
            if Self.isExpanded(bare) {
                throw fail(
                    line,
                    "a shell makes several words of '\(word)'",
                    "Put it in single quotes, or write the words out."
                )
            }
            words.append(word)
        }

        private mutating func endCommand() throws(RecordingError) {
            try endWord()
            if !words.isEmpty { commands.append(Command(line: start, words: words)) }
            (words, isRedirected, isPiped) = ([], false, false)
            start = line
        }

        /// `{a,b}` and `{1..3}`, unquoted.
        private static func isExpanded(_ bare: String) -> Bool {
            for part in bare.split(separator: "{").dropFirst(bare.hasPrefix("{") ? 0 : 1) {
                guard let end = part.firstIndex(of: "}") else { continue }
                let inner = part[..<end]
                if inner.contains(",") || inner.contains("..") { return true }
            }
            return false
        }

        mutating func read() throws(RecordingError) {
            while let scalar = take() {
                if words.isEmpty, word == nil, scalar != "\n" { start = line }
                switch scalar {
                case "\n", ";": try endCommand()
                case "&":
                    _ = take("&")
                    try endCommand()
                case "|":
                    if take("|") {
                        try endCommand()
                    } else {
                        try endWord()
                        isPiped = true
                    }
                case "<", ">": try redirect(scalar)
                case "(", ")", "`": throw substituted()
                case "\\": escape()
                case "#" where word == nil:
                    while let next = rest.first, next != "\n" { _ = take() }
                case "'": try quote(line)
                case "\"": try doubleQuote(line)
                case "$": try dollar()
                case " ", "\t", "\r", "\u{b}", "\u{c}": try endWord()
                default: append(scalar, isQuoted: false)
                }
            }
            try endCommand()
        }

        private mutating func redirect(_ scalar: Unicode.Scalar) throws(RecordingError) {
            if scalar == "<", rest.first == "<" || rest.first == "(" { throw substituted() }
            // `2>` names what is sent there.
            if let word, word.allSatisfy(\.isNumber) { (self.word, bare) = (nil, "") }
            try endWord()
            while let next = rest.first, [">", "&", "|"].contains(next) { _ = take() }
            isRedirected = true
        }

        private func substituted() -> RecordingError {
            fail(
                line,
                "a shell puts something else here, and nobody knows what",
                "Put it in single quotes, or write what it stands for."
            )
        }

        private mutating func escape() {
            if rest.first == "\r", rest.dropFirst().first == "\n" { _ = take() }
            guard let next = take(), next != "\n" else { return }
            append(next, isQuoted: true)
        }

        private mutating func quote(_ opened: Int) throws(RecordingError) {
            word = word ?? ""
            while let next = take() {
                if next == "'" { return }
                append(next, isQuoted: true)
            }
            throw fail(opened, "the quote is not closed", "Close it with '.")
        }

        private mutating func doubleQuote(_ opened: Int) throws(RecordingError) {
            word = word ?? ""
            while let next = take() {
                switch next {
                case "\"": return
                case "`": throw substituted()
                case "$" where isName(rest.first): throw substituted()
                case "\\":
                    guard let escaped = take() else { break }
                    if escaped == "\n" { continue }
                    if !["$", "`", "\"", "\\"].contains(escaped) { append("\\", isQuoted: true) }
                    append(escaped, isQuoted: true)
                default: append(next, isQuoted: true)
                }
            }
            throw fail(opened, "the quote is not closed", "Close it with \".")
        }

        /// Whether a `$` before it stands for something else.
        private func isName(_ scalar: Unicode.Scalar?) -> Bool {
            guard let scalar else { return false }
            return scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                || "_{(@*#?!$-".unicodeScalars.contains(scalar)
        }

        private mutating func dollar() throws(RecordingError) {
            if rest.first == "'" {
                let opened = line
                _ = take()
                return try ansi(opened)
            }
            // `$"…"` is translated nowhere.
            if rest.first == "\"" { return }
            if isName(rest.first) { throw substituted() }
            append("$", isQuoted: false)
        }

        // MARK: $'…'

        private mutating func ansi(_ opened: Int) throws(RecordingError) {
            word = word ?? ""
            // Bytes that are written one by one may be one letter.
            var bytes: [UInt8] = []
            while let next = take() {
                if next == "'" {
                    guard let text = String(validating: bytes, as: UTF8.self) else {
                        throw fail(opened, "the bytes of the quote are no text", "Write UTF-8.")
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
            throw fail(opened, "the quote is not closed", "Close it with '.")
        }

        private mutating func escapedBytes() -> [UInt8] {
            let simple: [Unicode.Scalar: UInt8] = [
                "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "e": 27, "E": 27,
            ]
            guard let kind = take() else { return [UInt8(ascii: "\\")] }
            if let byte = simple[kind] { return [byte] }
            switch kind {
            case "x":
                return number(16, 2).map { [UInt8(truncatingIfNeeded: $0)] } ?? Array("\\x".utf8)
            case "u", "U":
                let word = "\\" + String(kind)
                return number(16, kind == "u" ? 4 : 8).map { value in
                    Unicode.Scalar(value).map { Array(String($0).utf8) } ?? Array("\u{fffd}".utf8)
                } ?? Array(word.utf8)
            case "0"..."7":
                let first = kind.value - 48
                let more = number(8, 2, startingWith: first) ?? first
                return [UInt8(truncatingIfNeeded: more)]
            case "\\", "'", "\"", "?": return Array(String(kind).utf8)
            default: return Array(("\\" + String(kind)).utf8)
            }
        }

        /// Up to so many digits; nil when there is none.
        private mutating func number(
            _ radix: UInt32,
            _ countMax: Int,
            startingWith start: UInt32? = nil
        ) -> UInt32? {
            var value = start
            for _ in 0..<countMax {
                guard let next = rest.first,
                    let digit = Character(next).hexDigitValue.map(UInt32.init), digit < radix
                else { break }
                _ = take()
                value = (value ?? 0) &* radix &+ digit
            }
            return value
        }
    }

    // MARK: cmd.exe

    private static func windows(_ text: String) -> [Command] {
        var commands: [Command] = []
        var rest = Array(text.replacing("\r\n", with: "\n").unicodeScalars)[...]
        var (line, start, isQuoted) = (1, 1, false)
        var said = String.UnicodeScalarView()
        func end() {
            let words = arguments(said)
            if !words.isEmpty { commands.append(Command(line: start, words: words)) }
            said = String.UnicodeScalarView()
            isQuoted = false
            start = line
        }
        while let scalar = rest.popFirst() {
            switch scalar {
            case "^" where !isQuoted:
                guard var next = rest.popFirst() else { break }
                if next == "\n" {
                    line += 1
                    // What follows the end of the line is meant as it stands, another end as well.
                    guard let after = rest.popFirst() else { break }
                    next = after
                    if next == "\n" { line += 1 }
                    if next == " " || next == "^" {
                        rest = [next] + rest
                        break
                    }
                }
                said.append(next)
            case "\"":
                isQuoted.toggle()
                said.append(scalar)
            case "\n":
                line += 1
                end()
            case "&" where !isQuoted: end()
            default: said.append(scalar)
            }
        }
        end()
        return commands
    }

    /// Words as programs on Windows split their own command line.
    private static func arguments(_ text: String.UnicodeScalarView) -> [String] {
        var words: [String] = []
        var word: String.UnicodeScalarView?
        var isQuoted = false
        var backslashes = 0
        var rest = text[...]
        func append(_ scalar: Unicode.Scalar, _ count: Int = 1) {
            var longer = word ?? String.UnicodeScalarView()
            longer.append(contentsOf: repeatElement(scalar, count: count))
            word = longer
        }
        while let scalar = rest.popFirst() {
            if scalar == "\\" {
                backslashes += 1
                continue
            }
            // Backslashes mean something before a quote alone.
            let isEscaped = scalar == "\"" && backslashes % 2 == 1
            if backslashes > 0 { append("\\", scalar == "\"" ? backslashes / 2 : backslashes) }
            backslashes = 0
            switch scalar {
            case "\"" where isEscaped: append("\"")
            case "\"" where isQuoted && rest.first == "\"":
                rest.removeFirst()
                append("\"")
            case "\"":
                isQuoted.toggle()
                word = word ?? String.UnicodeScalarView()
            case " ", "\t":
                if isQuoted {
                    append(scalar)
                } else if let done = word {
                    words.append(String(done))
                    word = nil
                }
            default: append(scalar)
            }
        }
        if backslashes > 0 { append("\\", backslashes) }
        if let word { words.append(String(word)) }
        return words
    }
}
