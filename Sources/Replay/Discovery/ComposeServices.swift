/// Reads a Docker Compose file, and returns the variables and commands of services that are built
/// from source.
///
/// The file is read line by line, and only in the forms that people write by hand. Anything else is
/// ignored, because `init` also searches other files.
struct ComposeServices {
    private(set) var variables: [(name: String, value: String?, line: Int)] = []
    /// The commands, each with the folder from which its service is built.
    private(set) var commands: [(command: String, folder: String, line: Int)] = []

    static let names: Set<String> = [
        "compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml",
    ]

    init(_ text: String) {
        var lines: [(indent: Int, text: Substring, number: Int)] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            let body = line.drop { $0 == " " }
            guard !body.isEmpty, !body.hasPrefix("#") else { continue }
            lines.append((line.count - body.count, body, index + 1))
        }
        guard let first = lines.firstIndex(where: { $0.indent == 0 && $0.text == "services:" })
        else { return }
        let services = lines[(first + 1)...].prefix { $0.indent > 0 }
        guard let indentLevel = services.first?.indent else { return }
        var serviceLines: [(indent: Int, text: Substring, number: Int)] = []
        for line in services {
            if line.indent == indentLevel {
                readService(serviceLines)
                serviceLines = []
            } else {
                serviceLines.append(line)
            }
        }
        readService(serviceLines)
    }

    /// Reads the lines of one service.
    ///
    /// Services with a prebuilt image are ignored.
    private mutating func readService(_ serviceLines: [(indent: Int, text: Substring, number: Int)])
    {
        guard let indentLevel = serviceLines.first?.indent,
            serviceLines.contains(where: { $0.indent == indentLevel && $0.text.hasPrefix("build:") }
            )
        else { return }
        var isInEnvironment = false
        let context =
            serviceLines.compactMap { line in
                ["build: ", "context: "].first { line.text.hasPrefix($0) }
                    .map { Self.unquoted(line.text.dropFirst($0.count)) }
            }.first { !$0.contains("{") } ?? ""
        let folder = context.hasPrefix("./") ? String(context.dropFirst(2)) : context
        for line in serviceLines {
            if line.indent == indentLevel, !line.text.hasPrefix("- ") {
                isInEnvironment = line.text == "environment:"
                if line.text.hasPrefix("command: ") {
                    let command = Self.unquoted(line.text.dropFirst("command: ".count))
                    commands.append((command, folder == "." ? "" : folder, line.number))
                }
                continue
            }
            guard isInEnvironment else { continue }
            let entry = line.text.hasPrefix("- ") ? line.text.dropFirst(2) : line.text
            let unquotedEntry = Self.unquoted(entry)
            guard let separatorIndex = unquotedEntry.firstIndex(where: { $0 == "=" || $0 == ":" })
            else { continue }
            let name = Self.unquoted(unquotedEntry[..<separatorIndex])
            guard name.allSatisfy({ $0.isUppercase || $0.isNumber || $0 == "_" }), !name.isEmpty
            else { continue }
            let value = Self.unquoted(unquotedEntry[unquotedEntry.index(after: separatorIndex)...])
            variables.append((name, Self.fallback(value), line.number))
        }
    }

    /// Returns the string without surrounding blanks and quotation marks.
    private static func unquoted(_ text: Substring) -> String {
        var text = text.trimmed
        for quotationMark in ["\"", "'"]
        where text.count > 1 && text.hasPrefix(quotationMark) && text.hasSuffix(quotationMark) {
            text = String(text.dropFirst().dropLast())
        }
        return text
    }

    private static func unquoted(_ text: String) -> String { unquoted(text[...]) }

    /// Returns the default value in a reference such as `${NAME:-value}`, or a literal value; nil
    /// if there is none.
    private static func fallback(_ value: String) -> String? {
        guard value.hasPrefix("${"), value.hasSuffix("}") else {
            return value.isEmpty ? nil : value
        }
        return value.firstRange(of: ":-").map { String(value[$0.upperBound...].dropLast()) }
    }
}
