import Foundation
import TestSupport
import Testing

/// Patterns of sentences that readers outside the project did not understand at the first reading.
///
/// CONTRIBUTING explains the rules. A few sentences may match a pattern and still be clear, so the
/// tests limit the share of matches, and name the sentences to change first.
@Suite("Plain words")
struct PlainWordsTests {
    /// The largest share of sentences that may match a pattern.
    private static let shareMax = 0.02

    private static let patterns: [(name: String, pattern: String)] = [
        (
            "opens with a question word",
            #"^(What|Who|Whom|Whose|Where|When|How|Which|Whatever|Whoever)\b(?!.*\?)"#
        ),
        (
            "a free relative as the subject",
            #"(?:^|[.;:,] )(?:who|whoever|whom|whatever)\b(?!.*\?)"#
        ),
        ("somebody, nobody", #"\b(?:some|no|any|every)body\b|\bwhom\b"#),
        ("tell, told", #"\b(?:tells?|told|telling)\b"#),
        ("stand, stood", #"\b(?:stands?|stood|standing)\b"#),
        ("is no", #"\b(?:is|are|was|were) no [a-z]+"#),
        ("of ours, of its own", #"\bof (?:ours|yours|his own|its own|their own|mine|theirs)\b"#),
        ("so many", #"\bso (?:many|much|often|long|far|late)\b(?! (?:that|as))"#),
        ("anew, befall", #"\b(?:anew|befall\w*|befell)\b"#),
        ("a text", #"\b(?:a|each|every|no) texts?\b"#),
        ("beside", #"\bbeside\b"#),
        (
            "a private word",
            #"\b(?:lives|twins?|calm|ladder|courier|gestures?|strangers?|mishaps?|patience|played|plays)\b"#
        ),
    ]

    private let expressions: [(name: String, expression: NSRegularExpression)]

    init() throws {
        expressions = try Self.patterns.map {
            ($0.name, try NSRegularExpression(pattern: $0.pattern, options: .caseInsensitive))
        }
    }

    private struct Sentence {
        let place: String
        let text: String
    }

    /// The names of the patterns that a text matches.
    private func matches(_ text: String) -> [String] {
        let range = NSRange(text.startIndex..., in: text)
        return expressions.filter { $0.expression.firstMatch(in: text, range: range) != nil }.map(
            \.name
        )
    }

    private func check(_ sentences: [Sentence], _ kind: Comment) {
        #expect(sentences.count > 100, kind)
        let found = sentences.map { ($0, matches($0.text)) }.filter { !$0.1.isEmpty }
        let share = Double(found.count) / Double(max(1, sentences.count))
        guard share >= Self.shareMax else { return }
        for (sentence, names) in found.sorted(by: { $0.1.count > $1.1.count }).prefix(20) {
            Issue.record(
                "\(sentence.place): \(sentence.text.prefix(160)) (\(names.joined(separator: ", ")))"
            )
        }
        Issue.record("\(found.count) of \(sentences.count) match a pattern: \(kind)")
    }

    @Test func `doc comments are written in plain words`() {
        var sentences: [Sentence] = []
        for file in Repository.files(below: "Sources") {
            var block = ""
            var start = 0
            for (index, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false)
                .enumerated()
            {
                let text = line.drop { $0 == " " }
                if text.hasPrefix("///") {
                    if block.isEmpty { start = index + 1 }
                    block += (block.isEmpty ? "" : " ") + text.dropFirst(3).drop { $0 == " " }
                } else if !block.isEmpty {
                    sentences.append(Sentence(place: "\(file.path):\(start)", text: block))
                    block = ""
                }
            }
        }
        check(sentences, "doc comments")
    }

    @Test func `strings of the sources are written in plain words`() throws {
        let literal = try NSRegularExpression(pattern: #""((?:[^"\\\n]|\\.)*)""#)
        var sentences: [Sentence] = []
        for line in Repository.lines(below: "Sources")
        where !line.text.drop(while: { $0 == " " }).hasPrefix("//") {
            let range = NSRange(line.text.startIndex..., in: line.text)
            for match in literal.matches(in: line.text, range: range) {
                guard let inside = Range(match.range(at: 1), in: line.text) else { continue }
                let text = String(line.text[inside])
                guard text.split(separator: " ").count > 3 else { continue }
                sentences.append(Sentence(place: "\(line.path):\(line.number)", text: text))
            }
        }
        check(sentences, "strings")
    }

    @Test func `pages are written in plain words`() {
        let pages = Repository.files(below: "Sources", ending: "md").filter {
            !$0.path.contains("/Decisions/") && !$0.path.hasSuffix("/Changelog.md")
        }
        var sentences: [Sentence] = []
        for page in pages + [(path: "README.md", text: Repository.text(of: "README.md"))] {
            var isCode = false
            var paragraph = ""
            let lines = page.text.split(separator: "\n", omittingEmptySubsequences: false)
                .map(String.init)
            for line in lines + [""] {
                if line.hasPrefix("```") { isCode.toggle() }
                let opensAnother = line.isEmpty || "-|#*".contains(line.prefix(1))
                if isCode || opensAnother {
                    sentences += Self.sentences(of: paragraph).map {
                        Sentence(place: page.path, text: $0)
                    }
                    paragraph = ""
                }
                if !isCode, !line.hasPrefix("```") { paragraph += " " + line }
            }
        }
        check(sentences, "sentences of the pages")
    }

    /// The sentences of a paragraph with more than three words, without the text of code spans.
    private static func sentences(of paragraph: String) -> [String] {
        let plain = paragraph.replacing(/`[^`]*`/, with: "X")
            .trimmingCharacters(in: CharacterSet(charactersIn: "-|#* "))
        return plain.replacing(/([.:;]) (?=[A-Z])/) { "\($0.output.1)\n" }
            .split(separator: "\n").map(String.init)
            .filter { $0.split(separator: " ").count > 3 }
    }

    /// Words that had a meaning only inside this project.
    ///
    /// A name in `keptNames` belongs to a format.
    private static let privateWords: Set<String> = [
        "aside", "calm", "courier", "disturbance", "disturbances", "gesture", "gestures", "ladder",
        "ledger", "life", "lives", "mishap", "mishaps", "nobody", "obstacle", "obstacles",
        "patience", "performer", "performers", "promise", "promises", "somebody", "stage", "stages",
        "story", "stranger", "strangers", "surroundings", "tell", "tells", "told", "twin", "twins",
        "undisturbed",
    ]
    private static let keptNames: Set<String> = ["tellsDeletedUsers", "told"]

    @Test func `declared names contain no private word`() throws {
        let declaration =
            /^ *(?:[\w@()]+ )*(?:struct|class|enum|protocol|func|var|let|case|typealias) (\w+)/
        var count = 0
        for line in Repository.lines(below: "Sources") {
            guard let name = line.text.firstMatch(of: declaration)?.output.1 else { continue }
            count += 1
            let words = name.matches(of: /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/).map {
                $0.output.lowercased()
            }
            if Self.keptNames.contains(String(name)) { continue }
            let found = words.filter(Self.privateWords.contains)
            #expect(found.isEmpty, "\(line.path):\(line.number): \(name)")
        }
        #expect(count > 10_000)
    }

    @Test func `titles of contracts are written in plain words`() {
        let titles = Repository.files(below: "contracts", ending: "yaml").flatMap { file in
            file.text.split(separator: "\n").filter { $0.hasPrefix("title:") }.map {
                Sentence(
                    place: file.path,
                    text: $0.dropFirst(6).trimmingCharacters(in: CharacterSet(charactersIn: " \""))
                )
            }
        }
        check(titles, "titles of contracts")
    }

    @Test(arguments: [
        "What was lost once is lost.", "Returns what nobody was told.", "A book of its own.",
        "The twin of a run.", "A file that stands beside it.", "Copies so many bytes.",
    ])
    func `an unclear sentence matches a pattern`(text: String) {
        #expect(!matches(text).isEmpty)
    }

    @Test(arguments: [
        "Returns the cases that match.", "The retry schedule of a sender.",
        "A lost event stays lost.", "Rejects a port that is in use.", "Who sends the webhook?",
    ])
    func `a plain sentence matches no pattern`(text: String) {
        #expect(matches(text).isEmpty)
    }
}
