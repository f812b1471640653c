/// Which places the answers of each probe have had, so that a mapped place that none had is noticed
/// and not read as "no".
///
/// Absence alone means little: a backend may leave out what a user does not have. So a place counts
/// as existing when any answer of its probe had it: in this run, in its twins, or when a plain
/// purchase was made before the first case.
package struct ReadingSurvey: Sendable {
    /// The answers of each probe in the case, of all users.
    private let documents: [String: [JSONValue]]
    /// What each probe showed of a plain purchase; nil when nobody looked.
    private let calibrated: [String: [JSONPointer]]?
    /// Whether an event was accepted, so that there was something to show.
    private let sawEvent: Bool

    package init(_ evidence: CaseEvidence) {
        var documents: [String: [JSONValue]] = [:]
        let records = [evidence.subject] + evidence.twins
        for exchange in records.flatMap(\.exchanges) {
            guard case .probe(let probe, _) = exchange.purpose, exchange.completed != nil,
                case .document(let document) = ObservedState(exchange)
            else { continue }
            documents[probe, default: []].append(document)
        }
        self.documents = documents
        calibrated = evidence.sight.places
        sawEvent = records.contains { record in
            record.plan.deliveries.contains { delivery in
                record.attempts(of: delivery.name).contains {
                    $0.response.map { (200..<300).contains($0.status) } ?? false
                }
            }
        }
    }

    /// What a plain purchase alone has shown.
    package init(sight: RunRecord.Sight) {
        documents = [:]
        calibrated = sight.places
        sawEvent = true
    }

    /// What an answer holds at a place.
    package enum Look: Hashable, Sendable {
        case value(JSONValue)
        /// There is nothing that could hold it: no row, an empty answer, a parent that is null.
        case nothing
        /// There is something, and it has no such member.
        case lacking
    }

    /// What a document holds at a place; nil stands for a row that is missing.
    package static func look(at pointer: JSONPointer, in document: JSONValue?) -> Look {
        guard var value = document else { return .nothing }
        for token in pointer.tokens {
            if isNothing(value) { return .nothing }
            guard let next = value[JSONPointer(tokens: [token])] else { return .lacking }
            value = next
        }
        return .value(value)
    }

    private static func isNothing(_ value: JSONValue) -> Bool {
        switch value {
        case .null: true
        case .object(let object): object.members.isEmpty
        case .array(let elements): elements.isEmpty
        case .bool, .number, .string: false
        }
    }

    /// Whether any answer of the probe had the place.
    package func hasShown(_ pointer: JSONPointer, by probe: String) -> Bool {
        (documents[probe] ?? []).contains { $0[pointer] != nil }
            || calibrated?[probe]?.contains(pointer) == true
    }

    /// Whether there was a purchase whose answer would have to have the place, so that its absence
    /// everywhere says something.
    package var couldShow: Bool { calibrated != nil || sawEvent }

    /// The finding that says that no answer had the mapped place.
    package func finding(
        _ field: String,
        _ reading: Profile.Reading,
        of probe: String,
        expected: String,
        at location: SourceLocation?
    ) -> Finding {
        Finding(
            .readingAbsent,
            expected: expected,
            actual: absence(of: reading.pointer, in: probe),
            remedy: remedy(field, reading, of: probe),
            location: location
        )
    }

    /// "no answer had /activ; it has /active".
    package func absence(of pointer: JSONPointer, in probe: String) -> String {
        let text = "no answer of probe '\(probe)' had \(pointer)"
        if let near = nearest(to: pointer, in: probe) { return "\(text); it has \(near)" }
        let there = places(of: probe).filter { $0.tokens.count == 1 }.map(\.description).sorted()
        if there.isEmpty { return "\(text); it showed nothing at all" }
        let shown = there.prefix(8).joined(separator: ", ") + (there.count > 8 ? ", …" : "")
        return "\(text); it has \(shown)"
    }

    package func remedy(_ field: String, _ reading: Profile.Reading, of probe: String) -> String {
        let meaning = Profile.Reading.flags.contains(field) ? "false" : "null"
        let explicit =
            "if the backend leaves it out, say what that means: "
            + "{\(field): {at: \(reading.pointer), absent: \(meaning)}}."
        guard let near = nearest(to: reading.pointer, in: probe) else {
            return "Correct 'read' of probe '\(probe)' in assay.yaml; " + explicit
        }
        return "Write {\(field): \(near)} in 'read' of probe '\(probe)'; " + explicit
    }

    /// The place that was probably meant: spelt nearly alike, or of the same name elsewhere.
    package func nearest(to pointer: JSONPointer, in probe: String) -> JSONPointer? {
        let places = places(of: probe)
        let name = pointer.tokens.last
        return places.first { Self.isNear($0.tokens, pointer.tokens) }
            ?? places.first { $0.tokens.last == name }
            ?? places.first { Self.isNear($0.tokens.suffix(1), pointer.tokens.suffix(1)) }
    }

    /// Whether two places are as deep, and each step of one is spelt nearly as the other's.
    private static func isNear(_ left: some Sequence<String>, _ right: some Sequence<String>)
        -> Bool
    {
        let (left, right) = (Array(left), Array(right))
        return left.count == right.count && !left.isEmpty
            && zip(left, right).allSatisfy {
                $0 == $1 || Suggestion.nearest(to: $1, among: [$0]) != nil
            }
    }

    private func places(of probe: String) -> [JSONPointer] {
        let found = Set((documents[probe] ?? []).flatMap(\.places))
            .union(calibrated?[probe] ?? [])
        return found.sorted {
            ($0.tokens.count, $0.description) < ($1.tokens.count, $1.description)
        }
    }
}

extension JSONValue {
    /// Every place in it that holds something, the outer ones first; at most a thousand.
    package var places: [JSONPointer] {
        var places: [JSONPointer] = []
        var level: [(JSONPointer, JSONValue)] = [(JSONPointer(), self)]
        while !level.isEmpty, places.count < 1000 {
            var next: [(JSONPointer, JSONValue)] = []
            for (pointer, value) in level {
                switch value {
                case .object(let object):
                    next += object.members.map { (pointer.appending($0.key), $0.value) }
                case .array(let elements):
                    next += elements.enumerated().map { (pointer.appending("\($0)"), $1) }
                case .null, .bool, .number, .string: break
                }
            }
            places += next.prefix(1000 - places.count).map(\.0)
            level = next
        }
        return places
    }
}
