internal import Contracts
internal import Providers
internal import Values

/// The spelling of a planned response of a fake in the JSON of the control API.
///
/// A status is a number; everything else is spelled as in contracts
/// (`ProviderPlan.PlannedResponse.notation`).
enum PlannedResponseJSON {
    /// A list of all spellings of a planned response, for error messages.
    static var allowedSpellings: String {
        "a status from 200 to 599, slow 2s, hang 2s, code QUOTA_EXCEEDED (Firebase), "
            + ProviderPlan.PlannedResponse.words.map(\.word).joined(separator: ", ")
    }

    /// Returns the planned response that a JSON value spells; nil when the value is invalid.
    static func response(_ value: JSONValue) -> ProviderPlan.PlannedResponse? {
        if let status = value.int64 { return ProviderPlan.PlannedResponse(notation: "\(status)") }
        // A number in a string is not a valid spelling.
        guard let text = value.string, Int(text) == nil else { return nil }
        return ProviderPlan.PlannedResponse(notation: text)
    }

    /// Returns the JSON value that `response(_:)` converts to this planned response.
    static func value(_ response: ProviderPlan.PlannedResponse) -> JSONValue {
        if case .status(let status) = response { return .integer(Int64(status)) }
        return .string(response.notation)
    }
}
