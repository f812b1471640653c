internal import Contracts

/// One case of a group of cases with the same symptom.
struct SymptomGroupMember {
    /// The index of the case in `RunReport.cases`.
    let index: Int
    let result: CaseResult
    let symptom: CaseSymptom
    let operations: CaseOperations

    /// The sort key of the case that represents a cause: a failed case before an inconclusive one,
    /// and a short case before a long one.
    var precedence: (Int, Int, Int) {
        (result.outcome.isFailure ? 0 : 1, operations.count, index)
    }
}

/// The cases with the same symptom that probably fail because of the same fault of the backend.
struct SymptomGroupPart {
    /// The properties that two cases with the same symptom must share to have one cause.
    private struct Key: Hashable {
        /// The label of the event that shows the symptom.
        var event: String?
        /// The clause that the event or the response violates; nil if the response to the event is
        /// the symptom.
        var clause: String?
        /// Whether the code for all types of events may be at fault.
        var isAboutAnyEvent = true
    }

    /// The largest number of event types with the same symptom that are listed as separate causes.
    ///
    /// If more types fail in the same way, the cause is probably not in the code for one of them.
    private static let eventTypesMax = 3

    let members: [SymptomGroupMember]
    /// The shortest case; among several types of events, of the most frequent one.
    let representative: SymptomGroupMember
    /// The events that show the symptom, in words; nil if the symptom does not depend on an event.
    let eventText: String?
    /// The violated clause, if another cause has the same symptom and the same events.
    let clause: String?

    /// - Parameters:
    ///   - members: The cases; at least one.
    ///   - events: The labels of the events that show the symptom, the most frequent one first.
    ///   - examples: The cases that may represent the cause; nil for all of them.
    ///   - clause: The clause to name, if another cause has the same symptom and the same event.
    private init(
        _ members: [SymptomGroupMember],
        events: [String] = [],
        examples: [SymptomGroupMember]? = nil,
        clause: String? = nil
    ) {
        self.members = members
        self.clause = clause
        eventText = EventLabels.text(events)
        representative = (examples ?? members).min { $0.precedence < $1.precedence } ?? members[0]
    }
}

extension SymptomGroupPart {
    /// Divides cases with the same symptom by the event that shows it, and by the clause.
    static func parts(of members: [SymptomGroupMember], with symptom: FailureSymptom) -> [Self] {
        guard symptom.dependsOnEvent else { return [Self(members)] }
        let groups = Dictionary(grouping: zip(keys(of: members, with: symptom), members)) { $0.0 }
            .map { key, pairs in (key: key, members: pairs.map(\.1)) }
            .sorted { $0.members[0].index < $1.members[0].index }
        let shared = groups.filter(\.key.isAboutAnyEvent)
        let isMerged = Set(shared.map(\.key.event)).count > eventTypesMax
        let separate = isMerged ? groups.filter { !$0.key.isAboutAnyEvent } : groups
        let clausesByEvent = Dictionary(grouping: separate.map(\.key), by: \.event)
        let parts = separate.map { key, members in
            Self(
                members,
                events: [key.event].compactMap(\.self),
                clause: (clausesByEvent[key.event]?.count ?? 0) > 1 ? key.clause : nil
            )
        }
        return (isMerged ? [merged(shared.map { ($0.key.event, $0.members) })] : []) + parts
    }

    /// Returns one part with the cases of several types of events.
    private static func merged(_ groups: [(event: String?, members: [SymptomGroupMember])]) -> Self
    {
        let membersByEvent = Dictionary(grouping: groups, by: \.event)
            .map { event, groups in (event: event, members: groups.flatMap(\.members)) }
            .sorted { (-$0.members.count, $0.event ?? "") < (-$1.members.count, $1.event ?? "") }
        return Self(
            groups.flatMap(\.members).sorted { $0.index < $1.index },
            events: membersByEvent.compactMap(\.event),
            examples: membersByEvent.first?.members
        )
    }

    /// Returns the key of each case.
    ///
    /// If no exchange shows the symptom, the shortest contained case decides. For example, a case
    /// in which a refund keeps access belongs to the shortest case with a refund, even if an
    /// irrelevant event follows the refund.
    private static func keys(of members: [SymptomGroupMember], with symptom: FailureSymptom)
        -> [Key]
    {
        let sorted = members.sorted { $0.precedence < $1.precedence }
        return members.map { member in
            guard member.symptom.exchange == nil else {
                // A route that several clauses are about may violate each of them for another
                // reason. For example, it accepts tokens of another issuer and revoked tokens.
                let event = member.symptom.event
                return Key(
                    event: event,
                    clause: event == nil ? member.result.contract.clause : nil,
                    isAboutAnyEvent: event != nil
                )
            }
            let leader =
                sorted.first { member.operations.probablyFails(like: $0.operations) } ?? member
            return Key(
                event: leader.operations.lastEvent,
                clause: leader.result.contract.clause,
                isAboutAnyEvent: !symptom.isAboutValue || leader.operations.eventCount < 2
            )
        }
    }
}

extension EventLabels {
    /// The largest number of types in the words of several events.
    private static let namedTypesMax = 3

    /// Returns the events in words, such as `RENEWAL events`; nil without an event.
    static func text(_ labels: [String]) -> String? {
        guard let first = labels.first else { return nil }
        let types = labels.filter { ![unknownType, malformedBody, endOfPeriod].contains($0) }
        if labels.count == 1 {
            return first == unknownType
                ? "events of \(first)" : types.isEmpty ? first : "\(first) events"
        }
        let named = types.prefix(namedTypesMax)
        let restCount = labels.count - named.count
        return "events of the types " + named.joined(separator: ", ")
            + " and \(restCount) other type\(restCount == 1 ? "" : "s")"
    }
}

extension FailureSymptom {
    /// Whether cases with the symptom have different causes if they deliver different types of
    /// events.
    fileprivate var dependsOnEvent: Bool {
        switch self {
        case .unexpectedStatus, .missingResponse, .userMissing, .wrongValue: true
        case .finding(let code, _): !code.isInconclusive
        case .backendStopped, .restartFailed, .unservedCall, .unansweredCall, .refusedPush,
            .newKey, .lostUser, .setupFailed, .unexpectedPass, .notRun:
            false
        }
    }

    fileprivate var isAboutValue: Bool {
        if case .wrongValue = self { true } else { false }
    }
}
