/// The functions that files define, by their names.
struct FunctionIndex: Sendable {
    /// A place at which a function begins.
    private struct Position: Sendable {
        let file: Int
        let line: Int
    }

    private let sources: [SourceText]
    private var positions: [String: [Position]] = [:]

    /// The largest number of lines of a function that are read.
    private static let lineCountMax = 40

    private static let definitions: [Pattern] = [
        #"^[ \t]*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:def|function|func|fn|fun)\s+(?:\([^)\n]*\)\s*)?(?<name>\w+)\s*\("#,
        #"^[ \t]*(?:(?:export\s+)?(?:const|let|var)\s+|exports\.|static\s+)(?<name>\w+)\s*=\s*(?:async\s*)?(?:\w+|\([^)\n]*\))\s*=>"#,
        #"^[ \t]*(?:(?:public|private|protected|static|final|async)\s+)+[\w<>\[\], ?.]*?(?<name>\w+)\([^;\n]*\{\s*$"#,
    ]

    init(_ sources: [SourceText]) {
        self.sources = sources
        for (file, source) in sources.enumerated() where SourceSurvey.isSource(source.path) {
            let matches = Self.definitions.flatMap(source.matches).uniqued(by: \.lastLine)
            for match in matches {
                guard let name = match["name"] else { continue }
                positions[name, default: []].append(
                    Position(file: file, line: match.lastLine)
                )
            }
        }
    }

    /// Returns the text of the function with a name, from the given file or else from the only
    /// other file that defines it; nil if there is none.
    func text(of name: String, from file: Int) -> String? {
        let found = positions[name] ?? []
        let position = found.first { $0.file == file } ?? (found.count == 1 ? found[0] : nil)
        guard let position else { return nil }
        let source = sources[position.file]
        let end = source.lastLineOfBlock(openedAt: position.line)
        return source.lines[(position.line - 1)..<end].prefix(Self.lineCountMax)
            .joined(separator: "\n")
    }
}
