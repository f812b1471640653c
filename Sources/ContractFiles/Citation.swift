internal import Foundation

/// A part of the fact sheets that a contract or a clause cites.
package enum Citation: Hashable, Sendable {
    /// The name of a row in any fact sheet, such as the clause `S-05` or the defect `X-08` of the
    /// identity rules.
    case name(String)
    case section(sheet: String, number: String)
    case row(sheet: String, section: String, name: String)

    /// The arguments of `assay explain` that show the cited part of a fact sheet.
    package var words: [String] { ["source"] + sourceWords }

    /// The arguments of `assay explain source` that show the cited part of a fact sheet.
    package var sourceWords: [String] {
        switch self {
        case .name(let name): [name]
        case .section(let sheet, let number): [sheet, number]
        case .row(let sheet, let section, let name): [sheet, section, name]
        }
    }

    /// Returns the citations in the `source` text of a contract or clause, in their order.
    ///
    /// The text is prose, such as `fact sheet 7, traps 21 and 22; S-08`. Words that name no known
    /// part are ignored. A text that names no fact sheet refers to the sheet of the first folder in
    /// the contract's ID.
    package static func all(in text: String, by id: String) -> [Citation] {
        var parser = CitationParser(text, sheet: FactSheet.referenced(by: id.prefix { $0 != "/" }))
        return parser.readCitations()
    }

    /// Whether the cited part exists in the fact sheets.
    package var isKnown: Bool {
        switch self {
        case .name(let name):
            !FactSheet.rows(named: name).isEmpty
        case .section(let sheet, let number):
            FactSheet.named(sheet)?.section(number) != nil
        case .row(let sheet, let section, let name):
            FactSheet.named(sheet)?.section(section)?.row(name) != nil
        }
    }
}

/// A parser for citations, which reads the words of a `source` text from left to right.
private struct CitationParser {
    /// The kind of part to which the next number in the text refers.
    private enum ParsingMode {
        case nothing
        case section
        case row(section: String)
        case effect
    }

    /// Words between numbers that do not change the meaning of the numbers.
    private static let connectingWords: Set<String> = [
        "and", "to", "section", "sections", "part", "parts",
    ]

    private let words: [String]
    /// The fact sheet of the service that the text named last; empty when the text has named none.
    private var provider: String
    private var sheet: String
    private var parsingMode = ParsingMode.nothing
    private var citations: [Citation] = []

    init(_ text: String, sheet: FactSheet?) {
        words = text.split { " ,;()\"".contains($0) }
            .map { $0.last == "." ? String($0.dropLast()) : String($0) }
        provider = sheet?.name ?? ""
        self.sheet = provider
    }

    mutating func readCitations() -> [Citation] {
        for index in words.indices { readCitations(at: index) }
        return citations
    }

    private func word(_ index: Int) -> String {
        words.indices.contains(index) ? words[index].lowercased() : ""
    }

    private mutating func readCitations(at index: Int) {
        let text = words[index]
        let word = word(index)
        if Self.isName(text) {
            addCitation(.name(text))
        } else if word == "sheet", self.word(index - 1) == "fact" {
            (sheet, parsingMode) = (provider, .section)
        } else if word == "rules", self.word(index - 1) == "identity" {
            (sheet, parsingMode) = (FactSheet.referenced(by: "identity")?.name ?? "", .section)
        } else if let named = FactSheet.referenced(by: word)?.name, word != "identity" {
            (provider, sheet, parsingMode) = (named, named, .nothing)
        } else if word == "trap" || word == "traps" {
            let traps = FactSheet.named(provider)?.traps
            (sheet, parsingMode) = (provider, .row(section: traps?.number ?? ""))
        } else if word == "flow" || word == "flows" {
            (sheet, parsingMode) = (provider, .row(section: "3"))
        } else if word == "row" {
            parsingMode = .effect
        } else {
            readReference(text, at: index)
        }
    }

    private mutating func readReference(_ text: String, at index: Int) {
        let isSection = ["trap", "traps", "flow", "flows"].contains(word(index + 1))
        switch parsingMode {
        case _ where isSection && Self.isNumber(text): break  // The row of "7, trap 4" implies 7.
        case .section where Self.isNumber(text):
            addCitation(.section(sheet: sheet, number: text))
        case .row(let section) where Self.isNumber(text):
            for name in numbersInRange(to: text, at: index) {
                addCitation(.row(sheet: sheet, section: section, name: name))
            }
        case .effect where text == text.uppercased():
            addEffectCitation(text)
        default:
            if !Self.connectingWords.contains(text.lowercased()) { parsingMode = .nothing }
        }
    }

    /// Adds a citation of a row in the table of effects.
    ///
    /// A row's name may have two words, such as `CANCELLATION CUSTOMER_SUPPORT`.
    private mutating func addEffectCitation(_ text: String) {
        let (sheet, section) = ("identity-rules", "C.1")
        if case .row(sheet, section, let previousName) = citations.last {
            citations.removeLast()
            addCitation(.row(sheet: sheet, section: section, name: previousName + " " + text))
        } else {
            addCitation(.row(sheet: sheet, section: section, name: text))
        }
    }

    /// Returns the numbers of a range such as `21 to 25`, without the first number.
    private func numbersInRange(to text: String, at index: Int) -> [String] {
        guard word(index - 1) == "to", let first = Int(word(index - 2)), let last = Int(text),
            first < last
        else { return [text] }
        return (first + 1...last).map(String.init)
    }

    private mutating func addCitation(_ citation: Citation) {
        if !citations.contains(citation) { citations.append(citation) }
    }

    /// Returns whether the word is a name such as `S-05` or `X-30`.
    private static func isName(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].count == 1 && "SPFOACX".contains(parts[0])
            && parts[1].count == 2 && parts[1].allSatisfy(\.isNumber)
    }

    /// Returns whether the word is a number such as `7`, `1.4`, `13c` or `A10`.
    private static func isNumber(_ text: String) -> Bool {
        let rest = text.drop { "ABCDT".contains($0) }
        let digits = rest.drop { $0.isNumber || $0 == "." }
        return text.count - rest.count <= 1 && digits.count < rest.count
            && (digits.isEmpty || (digits.count == 1 && "abc".contains(digits)))
    }
}
