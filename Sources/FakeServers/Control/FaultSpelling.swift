internal import Conformance

/// How a fault is written in the control API's JSON: a status as a number, everything else as
/// contracts spell it (`ProviderPlan.Answer.spelling`).
enum FaultSpelling {
    /// What there is, for the message that refuses anything else.
    static var choices: String {
        "a status from 200 to 599, slow 2s, hang 2s, code QUOTA_EXCEEDED (Firebase), "
            + ProviderPlan.Answer.words.map(\.word).joined(separator: ", ")
    }

    /// The answer that the value spells; nil when it spells none.
    static func answer(_ value: JSONValue) -> ProviderPlan.Answer? {
        if let status = value.int64 { return ProviderPlan.Answer(spelling: "\(status)") }
        // A text that is a number is none of the words.
        guard let text = value.string, Int(text) == nil else { return nil }
        return ProviderPlan.Answer(spelling: text)
    }

    /// The spelling that gives this answer again.
    static func value(_ answer: ProviderPlan.Answer) -> JSONValue {
        if case .status(let status) = answer { return .integer(Int64(status)) }
        return .string(answer.spelling)
    }
}
