/// A search for the secrets that a command line passes to a program, with their positions.
///
/// The value in `NAME=value`, `--name=value` or `--name value` is a secret when the name is that of
/// a secret. The password of a URL such as `https://user:password@host` is a secret in any word. A
/// word that is a command line itself, as in `sh -c '…'`, is searched in the same way.
struct CommandSecrets {
    struct Match {
        let name: String
        let kind: String
        let value: String
        /// The range of the secret's value in the bytes of the command line.
        let range: Range<Int>
    }

    /// A word of the command line without its quotation marks, with the position of each of its
    /// bytes.
    private struct Word {
        var text: [UInt8] = []
        /// The position in the command line of each byte of `text`.
        var byteOffsets: [Int] = []
        var endOffset = 0
    }

    /// The depth to which command lines inside command lines are searched.
    private static let quotingDepthMax = 4

    private let kind: (String) -> String?

    /// Creates a search with a function that recognizes the names of secrets.
    ///
    /// - Parameter kind: Returns the kind of secret that the variable or option with a given name
    ///   contains; nil when it contains no secret.
    init(kind: @escaping (String) -> String?) {
        self.kind = kind
    }

    func matches(in command: String) -> [Match] {
        let bytes = Array(command.utf8)
        return secretMatches(Self.words(bytes), depth: 0)
    }

    private func secretMatches(_ words: [Word], depth: Int) -> [Match] {
        var secretMatches: [Match] = []
        var pendingOption: (name: String, kind: String)?
        for word in words {
            let text = String(decoding: word.text, as: UTF8.self)
            if let (name, kind) = pendingOption, !text.hasPrefix("-") {
                secretMatches += self.secretMatches(name, kind, word, from: 0)
            }
            pendingOption = nil
            let name = String(decoding: word.text.prefix { Self.isNameByte($0) }, as: UTF8.self)
            let nameWithoutDashes = String(name.utf8.drop { $0 == UInt8(ascii: "-") }) ?? ""
            if let kind = kind(nameWithoutDashes) {
                if word.text.count == name.utf8.count {
                    if name.hasPrefix("-") { pendingOption = (nameWithoutDashes, kind) }
                } else if word.text[name.utf8.count] == UInt8(ascii: "=") {
                    secretMatches += self.secretMatches(
                        nameWithoutDashes,
                        kind,
                        word,
                        from: name.utf8.count + 1
                    )
                }
            }
            secretMatches += urlPasswords(word)
            if depth < Self.quotingDepthMax, word.text.contains(where: Self.isBlank) {
                let inner = Self.words(word.text).map { inner in
                    Word(
                        text: inner.text,
                        byteOffsets: inner.byteOffsets.map { word.byteOffsets[$0] },
                        endOffset: inner.byteOffsets.last.map { word.byteOffsets[$0] + 1 }
                            ?? word.endOffset
                    )
                }
                secretMatches += self.secretMatches(inner, depth: depth + 1)
            }
        }
        return secretMatches
    }

    private func secretMatches(_ name: String, _ kind: String, _ word: Word, from start: Int)
        -> [Match]
    {
        let value = String(decoding: word.text[start...], as: UTF8.self)
        guard let first = word.byteOffsets.dropFirst(start).first, let last = word.byteOffsets.last,
            SecretDeclaration.isLiteral(value)
        else { return [] }
        return [Match(name: name, kind: kind, value: value, range: first..<(last + 1))]
    }

    /// Returns the passwords of the URLs in a word of the command line, with their positions.
    private func urlPasswords(_ word: Word) -> [Match] {
        guard let range = SecretDeclaration.passwordRange(in: word.text) else { return [] }
        let value = String(decoding: word.text[range], as: UTF8.self)
        guard SecretDeclaration.isLiteral(value) else { return [] }
        let position =
            word.byteOffsets[range.lowerBound]..<(word.byteOffsets[range.upperBound - 1] + 1)
        return [Match(name: "password", kind: "password", value: value, range: position)]
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0d).contains(byte)
    }

    /// Splits a command line into words as a POSIX shell does; variables are not expanded.
    private static func words(_ bytes: [UInt8]) -> [Word] {
        let separatorBytes = Set(";&|()<>".utf8)
        var words: [Word] = []
        var word: Word?
        var quote: UInt8?
        var index = 0
        func endWord() {
            if var finishedWord = word {
                finishedWord.endOffset = index
                words.append(finishedWord)
            }
            word = nil
        }
        func appendByte(_ position: Int) {
            if word == nil { word = Word() }
            word?.text.append(bytes[position])
            word?.byteOffsets.append(position)
        }
        while index < bytes.count {
            let byte = bytes[index]
            let isEscape =
                byte == UInt8(ascii: "\\") && quote != UInt8(ascii: "'") && index + 1 < bytes.count
            if isEscape {
                index += 1
                appendByte(index)
            } else if byte == quote {
                quote = nil
            } else if quote != nil {
                appendByte(index)
            } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                quote = byte
                if word == nil { word = Word() }
            } else if isBlank(byte) || separatorBytes.contains(byte) {
                endWord()
            } else {
                appendByte(index)
            }
            index += 1
        }
        endWord()
        return words
    }
}

extension Redaction {
    /// Returns a command line in which all secrets are masked.
    package func command(_ text: String) -> String {
        let secretMatches = CommandSecrets(kind: kind(ofVariable:)).matches(in: text)
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        var copiedByteCount = 0
        for secret in secretMatches where secret.range.lowerBound >= copiedByteCount {
            output += bytes[copiedByteCount..<secret.range.lowerBound]
            output += masked(secret.kind, secret.value).utf8
            copiedByteCount = secret.range.upperBound
        }
        return self.text(String(decoding: output + bytes[copiedByteCount...], as: UTF8.self))
    }

    /// Returns the words of a command in which all secrets are masked.
    package func command(_ words: [String]) -> [String] {
        var redactedWords: [String] = []
        var pendingOption: String?
        for word in words {
            let isOptionValue = pendingOption != nil && !word.hasPrefix("-") && !word.isEmpty
            let kind = isOptionValue ? pendingOption.flatMap(kind(ofVariable:)) : nil
            redactedWords.append(kind.map { masked($0, word) } ?? command(word))
            pendingOption = word.hasPrefix("-") ? String(word.drop { $0 == "-" }) : nil
        }
        return redactedWords
    }

    /// Returns the kind of credential that the environment variable or option with a given name
    /// contains; nil when it contains none.
    package func kind(ofVariable name: String) -> String? {
        let secretKind =
            kind(name, .stringMembers) ?? (SecretNames.isKeyVariable(name) ? "key" : nil)
        return secretKind.flatMap { SecretNames.credentialKinds.contains($0) ? $0 : nil }
    }
}
