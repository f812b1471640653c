package import Contracts
internal import Grammar
package import Values

/// The JSON paths that occur in the responses of each probe.
///
/// When the profile maps a field to a path that no response contained, the case is inconclusive;
/// the field is not taken as "no". One response without the path means little, because a backend
/// may omit values that a user does not have.
///
/// A path exists when any response of the probe contained it. The responses come from the judged
/// run, from its baseline runs, and from a plain purchase before the first case.
package struct ProbePathSurvey: Sendable {
    /// The responses of each probe in the case, for all users, by probe name.
    private let documents: [String: [JSONValue]]
    /// The paths that each probe's response had after a plain purchase before the first case; nil
    /// when no such purchase was made.
    private let pathsAfterPlainPurchases: [String: [JSONPointer]]?
    /// Whether the backend accepted an event in the case, so that a probe had a state to show.
    private let hasAcceptedEvent: Bool

    package init(_ evidence: CaseEvidence) {
        var documents: [String: [JSONValue]] = [:]
        let records = [evidence.subject] + evidence.baselines
        for exchange in records.flatMap(\.exchanges) {
            guard case .probe(let probe, _) = exchange.purpose, exchange.completed != nil,
                case .document(let document) = ObservedState(exchange)
            else { continue }
            documents[probe, default: []].append(document)
        }
        self.documents = documents
        pathsAfterPlainPurchases = evidence.observability.valuePaths
        hasAcceptedEvent = records.contains { record in
            record.plan.deliveries.contains { delivery in
                record.attempts(of: delivery.name).contains {
                    $0.response.map { (200..<300).contains($0.status) } ?? false
                }
            }
        }
    }

    /// Creates a survey of only the probe responses after the plain purchase before the first case.
    package init(observability: RunRecord.Observability) {
        documents = [:]
        pathsAfterPlainPurchases = observability.valuePaths
        hasAcceptedEvent = true
    }

    /// The result of looking up a JSON path in a probe's response.
    package enum PathLookup: Hashable, Sendable {
        case value(JSONValue)
        /// The response has no object that could contain the path: the row or the element of a list
        /// is missing, the response is empty, or the parent is null.
        case parentNotFound
        /// The object that should contain the path exists and has no such member.
        case memberMissing
    }

    /// Looks up a JSON path in a probe's response; nil means that the row is missing.
    package static func lookUp(at pointer: JSONPointer, in document: JSONValue?) -> PathLookup {
        guard var value = document else { return .parentNotFound }
        for token in pointer.tokens {
            if isEmptyOrNull(value) { return .parentNotFound }
            guard let next = value[JSONPointer(tokens: [token])] else {
                let isSelection = value.array != nil && ElementSelection(token) != nil
                return isSelection ? .parentNotFound : .memberMissing
            }
            value = next
        }
        return .value(value)
    }

    private static func isEmptyOrNull(_ value: JSONValue) -> Bool {
        switch value {
        case .null: true
        case .object(let object): object.members.isEmpty
        case .array(let elements): elements.isEmpty
        case .bool, .number, .string: false
        }
    }

    /// Whether any response of the probe contained the path.
    package func hasContained(_ pointer: JSONPointer, by probe: String) -> Bool {
        (documents[probe] ?? []).contains { $0[pointer] != nil }
            || pathsAfterPlainPurchases?[probe]?.contains(pointer) == true
    }

    /// Whether a purchase existed after which a probe's response had to contain all mapped paths,
    /// so that a missing path shows an error in the profile.
    package var canJudgeAbsence: Bool { pathsAfterPlainPurchases != nil || hasAcceptedEvent }

    /// Returns the inconclusive finding that no response of the probe contained the path of the
    /// mapped field.
    package func finding(
        _ field: String,
        _ reading: Profile.FieldReading,
        of probe: String,
        expected: String,
        at location: SourceLocation?
    ) -> Finding {
        Finding(
            .mappedPathAbsent,
            expected: expected,
            actual: absenceDescription(of: reading.pointer, in: probe),
            remedy: remedy(field, reading, of: probe),
            location: location
        )
    }

    /// Returns a description of a missing path, such as "no response of probe 'user' contained
    /// /activ; it has /active".
    package func absenceDescription(of pointer: JSONPointer, in probe: String) -> String {
        let text = "no response of probe '\(probe)' contained \(pointer)"
        if let nearestPath = nearest(to: pointer, in: probe) {
            return "\(text); the responses have \(nearestPath)"
        }
        let topLevelPaths = valuePaths(of: probe).filter { $0.tokens.count == 1 }.map(\.description)
            .sorted()
        if topLevelPaths.isEmpty { return "\(text); the responses were empty" }
        let listedPaths =
            topLevelPaths.prefix(8).joined(separator: ", ") + (topLevelPaths.count > 8 ? ", …" : "")
        return "\(text); the responses have \(listedPaths)"
    }

    package func remedy(_ field: String, _ reading: Profile.FieldReading, of probe: String)
        -> String
    {
        let valueWhenAbsent = Profile.FieldReading.booleanFields.contains(field) ? "false" : "null"
        let explicitReading =
            "if the backend omits the field on purpose, state the value that this means: "
            + "{\(field): {at: \(reading.pointer), absent: \(valueWhenAbsent)}}."
        guard let nearestPath = nearest(to: reading.pointer, in: probe) else {
            return "Correct 'read' of probe '\(probe)' in assay.yaml; " + explicitReading
        }
        return "Write {\(field): \(nearestPath)} in 'read' of probe '\(probe)'; " + explicitReading
    }

    /// Returns the existing path that the profile's author probably meant: one with a similar
    /// spelling, or with the same name at another position.
    package func nearest(to pointer: JSONPointer, in probe: String) -> JSONPointer? {
        let valuePaths = valuePaths(of: probe)
        let name = pointer.tokens.last
        return valuePaths.first { Self.isNear($0.tokens, pointer.tokens) }
            ?? valuePaths.first { $0.tokens.last == name }
            ?? valuePaths.first { Self.isNear($0.tokens.suffix(1), pointer.tokens.suffix(1)) }
    }

    /// Whether two paths have the same number of components, and each pair of components has a
    /// similar spelling.
    private static func isNear(_ left: some Sequence<String>, _ right: some Sequence<String>)
        -> Bool
    {
        let (left, right) = (Array(left), Array(right))
        return left.count == right.count && !left.isEmpty
            && zip(left, right).allSatisfy {
                $0 == $1 || Suggestion.nearest(to: $1, among: [$0]) != nil
            }
    }

    private func valuePaths(of probe: String) -> [JSONPointer] {
        let foundPaths = Set((documents[probe] ?? []).flatMap(\.valuePaths))
            .union(pathsAfterPlainPurchases?[probe] ?? [])
        return foundPaths.sorted {
            ($0.tokens.count, $0.description) < ($1.tokens.count, $1.description)
        }
    }
}

extension JSONValue {
    /// The JSON paths of all values inside this value, outer values first; at most 1,000 paths.
    package var valuePaths: [JSONPointer] {
        var valuePaths: [JSONPointer] = []
        var pathsOfLevel: [(JSONPointer, JSONValue)] = [(JSONPointer(), self)]
        while !pathsOfLevel.isEmpty, valuePaths.count < 1000 {
            var next: [(JSONPointer, JSONValue)] = []
            for (pointer, value) in pathsOfLevel {
                switch value {
                case .object(let object):
                    next += object.members.map { (pointer.appending($0.key), $0.value) }
                case .array(let elements):
                    next += elements.enumerated().map { (pointer.appending("\($0)"), $1) }
                case .null, .bool, .number, .string: break
                }
            }
            valuePaths += next.prefix(1000 - valuePaths.count).map(\.0)
            pathsOfLevel = next
        }
        return valuePaths
    }
}
