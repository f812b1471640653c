internal import Conformance
internal import Providers

/// `curl` command lines, as shells and browsers' "copy as cURL" write them.
extension ImportReader {
    mutating func curl(_ bytes: [UInt8]) throws(RecordingError) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw fail(1, "the file is not UTF-8 text", "Save the commands as UTF-8.")
        }
        for (line, words) in try commands(text) {
            var words = words[...]
            if words.first == "$" { words.removeFirst() }
            guard words.popFirst() == "curl" else {
                throw fail(
                    line,
                    "this is no curl command",
                    "Begin each command with 'curl'; comments begin with #."
                )
            }
            try add(command: Array(words), line)
        }
        if exchanges.isEmpty { throw fail(1, "there is no curl command", "Name another file.") }
    }

    /// What the flags of one command say.
    private struct Command {
        var method: String?
        var url: String?
        var fields: [HTTPMessage.Field] = []
        var parts: [String] = []
        var isQuery = false
    }

    /// Flags whose value says nothing about the request.
    private static let skipped: Set<String> = [
        "-A", "--user-agent", "-o", "--output", "-m", "--max-time", "--connect-timeout", "-w",
        "--write-out", "-e", "--referer", "--retry",
    ]

    private func command(_ words: [String], _ line: Int) throws(RecordingError) -> Command {
        var found = Command()
        var rest = words[...]
        func value(_ flag: String) throws(RecordingError) -> String {
            guard let value = rest.popFirst() else {
                throw fail(line, "'\(flag)' has no value", "Complete the command.")
            }
            return value
        }
        while let word = rest.popFirst() {
            switch word {
            case "-X", "--request": found.method = try value(word)
            case "-H", "--header":
                guard let (name, text) = try value(word).cut(at: ":"), !name.isEmpty, !text.isEmpty
                else { continue }
                found.fields.append(.init(name, String(text.drop(while: \.isWhitespace))))
            case "-d", "--data", "--data-raw", "--data-binary", "--data-ascii",
                "--data-urlencode":
                found.parts.append(try value(word))
            case "--json":
                found.parts.append(try value(word))
                found.fields.append(.init("content-type", "application/json"))
            case "-u", "--user":
                let login = Array(try value(word).utf8)
                found.fields.append(.init("authorization", "Basic " + Base64.text(login)))
            case "-b", "--cookie": found.fields.append(.init("cookie", try value(word)))
            case "-G", "--get": found.isQuery = true
            case "-I", "--head": found.method = "HEAD"
            case "--url": found.url = try value(word)
            case let flag where Self.skipped.contains(flag): _ = try value(word)
            case let flag where flag.utf8.first == UInt8(ascii: "-"): continue
            default: found.url = word
            }
        }
        return found
    }

    private mutating func add(command words: [String], _ line: Int) throws(RecordingError) {
        let found = try command(words, line)
        guard let url = found.url,
            let target = Self.target(url.contains("://") ? url : "http://" + url)
        else { throw fail(line, "the command has no URL", "Complete the command.") }
        var body = found.parts.joined(separator: "&")
        var full = target
        if found.isQuery, !body.isEmpty {
            full += (target.contains("?") ? "&" : "?") + body
            body = ""
        }
        let verb = found.method ?? (body.isEmpty ? "GET" : "POST")
        guard Self.isMethod(verb) else {
            throw fail(line, "'\(verb)' is no method", "Write it in capitals: -X POST.")
        }
        var fields = found.fields
        if !body.isEmpty, fields.value(of: "content-type") == nil {
            let type =
                (try? JSONValue(parsing: body)) == nil
                ? "application/x-www-form-urlencoded" : "application/json"
            fields.append(HTTPMessage.Field("content-type", type))
        }
        add(
            HTTPMessage.Request(verb, full, fields: fields, body: Array(body.utf8)),
            nil,
            at: nil
        )
    }

    /// Words as a shell would split them: quotes, backslashes, lines that go on, `$'…'`.
    private func commands(
        _ text: String
    ) throws(RecordingError) -> [(line: Int, words: [String])] {
        var found: [(line: Int, words: [String])] = []
        var words: [String] = []
        var word: String?
        var line = 1
        var start = 1
        // One code point at a time: a quote is one, whatever mark follows it.
        var rest = text.unicodeScalars.map(Character.init)[...]
        func finish() {
            if let done = word { words.append(done) }
            word = nil
        }
        while let character = rest.popFirst() {
            switch character {
            case "\n":
                line += 1
                finish()
                if !words.isEmpty { found.append((start, words)) }
                words = []
                start = line
            case "\\":
                if rest.starts(with: ["\r", "\n"]) { rest.removeFirst() }
                guard let next = rest.popFirst() else { break }
                if next == "\n" { line += 1 } else { word = (word ?? "") + String(next) }
            case "#" where word == nil && words.isEmpty:
                rest = rest.drop { !$0.isNewline }
            case "'", "\"":
                let opened = line
                let isANSI = character == "'" && word == "$"
                if isANSI { word = "" }
                var quoted = word ?? ""
                var isClosed = false
                while let next = rest.popFirst() {
                    if next == "\n" { line += 1 }
                    if next == character {
                        isClosed = true
                        break
                    }
                    if next == "\\", character == "\"" || isANSI, let escaped = rest.popFirst() {
                        quoted += isANSI && escaped == "n" ? "\n" : String(escaped)
                    } else {
                        quoted.append(next)
                    }
                }
                guard isClosed else {
                    throw fail(opened, "the quote is not closed", "Close it with \(character).")
                }
                word = quoted
            case _ where character.isWhitespace: finish()
            default: word = (word ?? "") + String(character)
            }
        }
        finish()
        if !words.isEmpty { found.append((start, words)) }
        return found
    }
}
