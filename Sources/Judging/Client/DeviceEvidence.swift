internal import Contracts
internal import Providers

/// The evidence of one device scenario (a contract for an app on a simulated phone).
struct DeviceEvidence {
    let timeline: ClientTimeline
    let profile: Profile
    let record: RunRecord

    init(_ evidence: CaseEvidence) {
        timeline = ClientTimeline(evidence.subject, profile: evidence.profile)
        profile = evidence.profile
        record = evidence.subject
    }

    /// Joins the names with commas, in their order and without duplicates.
    static func commaSeparatedList(_ names: [String]) -> String {
        var listedNames: Set<String> = []
        return names.filter { listedNames.insert($0).inserted }.joined(separator: ", ")
    }

    /// Returns a description of an ID for reports: the user or the phone that it belongs to, or the
    /// shortened ID itself.
    func idDescription(_ id: String?) -> String {
        guard let id else { return "none" }
        if let user = record.plan.users.first(where: { record.namespace.id(of: $0) == id }) {
            return "the ID of \(user)"
        }
        for phone in timeline.names where timeline.installID(of: phone) == id {
            return "the install ID of \(phone)"
        }
        return "'\(id.shown(60))'"
    }
}

extension String {
    /// Returns at most `countMax` characters from the beginning of the string, on one line, with
    /// spaces in place of control characters.
    func shown(_ countMax: Int) -> String {
        let line = prefix(countMax).unicodeScalars.map { $0.value < 32 ? " " : $0 }
        return String(String.UnicodeScalarView(line))
    }
}
