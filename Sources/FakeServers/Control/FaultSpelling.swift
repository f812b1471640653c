internal import Conformance

/// How a fault is written in the control API: a status as a number, everything else as text.
///
/// The one place that parses and prints it here; contracts have their own spelling so far.
enum FaultSpelling {
    private static let names: [(name: String, answer: ProviderPlan.Answer)] = [
        ("ok", .asUsual), ("reset", .reset), ("lose-answer", .loseAnswer), ("never", .never),
        ("half", .half), ("malformed", .malformed), ("no-subscribers", .noSubscribers),
        ("invalid-aliases", .invalidAliases),
    ]

    /// What there is, for the message that refuses anything else.
    static var choices: String {
        "a status from 200 to 599, slow 2s, hang 2s, code QUOTA_EXCEEDED (Firebase), "
            + names.map(\.name).joined(separator: ", ")
    }

    /// The answer that the value spells; nil when it spells none.
    static func answer(_ value: JSONValue) -> ProviderPlan.Answer? {
        if let status = value.int64, (200...599).contains(status) { return .status(Int(status)) }
        guard let text = value.string else { return nil }
        if let known = names.first(where: { $0.name == text }) { return known.answer }
        let words = text.split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("code", 2...): return .code(words.dropFirst().joined(separator: " "))
        case ("slow", 2):
            return Duration(contractText: words[1]).map { .slow($0.milliseconds) }
        case ("hang", 2):
            return Duration(contractText: words[1]).map { .hang($0.milliseconds) }
        default: return nil
        }
    }

    /// The spelling that gives this answer again.
    static func value(_ answer: ProviderPlan.Answer) -> JSONValue {
        switch answer {
        case .status(let status): .integer(Int64(status))
        case .slow(let milliseconds): .string("slow \(milliseconds)ms")
        case .hang(let milliseconds): .string("hang \(milliseconds)ms")
        case .code(let code): .string("code \(code)")
        case .asUsual, .reset, .loseAnswer, .never, .half, .malformed, .noSubscribers,
            .invalidAliases:
            .string(names.first { $0.answer == answer }?.name ?? "ok")
        }
    }
}
