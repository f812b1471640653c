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
        var places: [Int] = []
        var end = 0
    }

    /// The depth to which command lines inside command lines are searched.
    private static let depthMax = 4

    private let kind: (String) -> String?

    /// Creates a search with a function that recognizes the names of secrets.
    ///
    /// - Parameter kind: Returns the kind of secret that a variable or option of a name contains;
    ///   nil when the name is not that of a secret.
    init(kind: @escaping (String) -> String?) {
        self.kind = kind
    }

    func all(in command: String) -> [Match] {
        let bytes = Array(command.utf8)
        return found(Self.words(bytes), depth: 0)
    }

    private func found(_ words: [Word], depth: Int) -> [Match] {
        var found: [Match] = []
        var option: (name: String, kind: String)?
        for word in words {
            let text = String(decoding: word.text, as: UTF8.self)
            if let (name, kind) = option, !text.hasPrefix("-") {
                found += self.found(name, kind, word, from: 0)
            }
            option = nil
            let name = String(decoding: word.text.prefix { Self.isName($0) }, as: UTF8.self)
            let bare = String(name.utf8.drop { $0 == UInt8(ascii: "-") }) ?? ""
            if let kind = kind(bare) {
                if word.text.count == name.utf8.count {
                    if name.hasPrefix("-") { option = (bare, kind) }
                } else if word.text[name.utf8.count] == UInt8(ascii: "=") {
                    found += self.found(bare, kind, word, from: name.utf8.count + 1)
                }
            }
            found += urlPasswords(word)
            if depth < Self.depthMax, word.text.contains(where: Self.isBlank) {
                let inner = Self.words(word.text).map { inner in
                    Word(
                        text: inner.text,
                        places: inner.places.map { word.places[$0] },
                        end: inner.places.last.map { word.places[$0] + 1 } ?? word.end
                    )
                }
                found += self.found(inner, depth: depth + 1)
            }
        }
        return found
    }

    private func found(_ name: String, _ kind: String, _ word: Word, from start: Int) -> [Match] {
        let value = String(decoding: word.text[start...], as: UTF8.self)
        guard let first = word.places.dropFirst(start).first, let last = word.places.last,
            SecretDeclaration.isLiteral(value)
        else { return [] }
        return [Match(name: name, kind: kind, value: value, range: first..<(last + 1))]
    }

    /// Returns the passwords of the URLs in a word of the command line, with their positions.
    private func urlPasswords(_ word: Word) -> [Match] {
        guard let range = SecretDeclaration.passwordRange(in: word.text) else { return [] }
        let value = String(decoding: word.text[range], as: UTF8.self)
        guard SecretDeclaration.isLiteral(value) else { return [] }
        let place = word.places[range.lowerBound]..<(word.places[range.upperBound - 1] + 1)
        return [Match(name: "password", kind: "password", value: value, range: place)]
    }

    private static func isName(_ byte: UInt8) -> Bool {
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
        let ends = Set(";&|()<>".utf8)
        var words: [Word] = []
        var word: Word?
        var quote: UInt8?
        var index = 0
        func close() {
            if var done = word {
                done.end = index
                words.append(done)
            }
            word = nil
        }
        func take(_ place: Int) {
            if word == nil { word = Word() }
            word?.text.append(bytes[place])
            word?.places.append(place)
        }
        while index < bytes.count {
            let byte = bytes[index]
            let isEscape =
                byte == UInt8(ascii: "\\") && quote != UInt8(ascii: "'") && index + 1 < bytes.count
            if isEscape {
                index += 1
                take(index)
            } else if byte == quote {
                quote = nil
            } else if quote != nil {
                take(index)
            } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                quote = byte
                if word == nil { word = Word() }
            } else if isBlank(byte) || ends.contains(byte) {
                close()
            } else {
                take(index)
            }
            index += 1
        }
        close()
        return words
    }
}

extension Redaction {
    /// Returns a command line in which all secrets are masked.
    package func command(_ text: String) -> String {
        let found = CommandSecrets(kind: kind(ofVariable:)).all(in: text)
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
        let bytes = Array(text.utf8)
        var output: [UInt8] = []
        var copied = 0
        for secret in found where secret.range.lowerBound >= copied {
            output += bytes[copied..<secret.range.lowerBound]
            output += masked(secret.kind, secret.value).utf8
            copied = secret.range.upperBound
        }
        return self.text(String(decoding: output + bytes[copied...], as: UTF8.self))
    }

    /// Returns the words of a command in which all secrets are masked.
    package func command(_ words: [String]) -> [String] {
        var clean: [String] = []
        var option: String?
        for word in words {
            let isValue = option != nil && !word.hasPrefix("-") && !word.isEmpty
            let kind = isValue ? option.flatMap(kind(ofVariable:)) : nil
            clean.append(kind.map { masked($0, word) } ?? command(word))
            option = word.hasPrefix("-") ? String(word.drop { $0 == "-" }) : nil
        }
        return clean
    }

    /// Returns the kind of credential that an environment variable or option of that name contains;
    /// nil when it contains none.
    func kind(ofVariable name: String) -> String? {
        let found =
            kind(name, .leaves) ?? (SecretNames.isKeyVariable(name) ? "key" : nil)
        return found.flatMap { SecretNames.credentials.contains($0) ? $0 : nil }
    }
}
