internal import Contracts
internal import Values

/// The observable results of one run (probe responses and effects) with its IDs and times masked,
/// so that two runs can be compared.
struct ComparableRun: Sendable {
    /// A pair of a user and a probe that reads the user's state.
    struct UserProbe: Hashable, Sendable {
        let user: String
        let probe: String
    }

    /// The kind and the recipients of an effect; only effects with an equal kind and equal
    /// recipients are compared with each other.
    struct EffectKey: Hashable, Sendable {
        let kind: String
        let recipients: [String]

        var text: String { "\(kind) to \(recipients.joined(separator: ", "))" }
    }

    struct MaskedEffect: Sendable {
        let content: JSONValue
        let sequence: Int
    }

    /// The masked response of each probe about each user, or only the fields that the profile maps.
    ///
    /// A user or row that does not exist is null. A response that could not be read is left out.
    let documents: [UserProbe: JSONValue]
    /// The reason for each probe response that could not be read.
    let unreadable: [UserProbe: String]
    /// The users and probes for which a probe failed at any time in the run, even if a later
    /// attempt succeeded.
    let unreliableProbes: Set<UserProbe>
    let effects: [EffectKey: [MaskedEffect]]

    init(_ record: RunRecord, _ evidence: CaseEvidence) {
        let masking = Masking(record)
        let probes = evidence.profile.probes
        let selectedFields = evidence.expectation.comparedFields
        let openOrder = OpenOrder(evidence)
        var documents: [UserProbe: JSONValue] = [:]
        var unreadable: [UserProbe: String] = [:]
        for user in evidence.plan.subject.users {
            for probe in probes {
                let userProbe = UserProbe(user: user, probe: probe.name)
                let comparesMappedFieldsOnly =
                    Self.comparesMappedFieldsOnly(evidence) || openOrder.affects(user)
                let readings = openOrder.comparableReadings(
                    selectedFields.isEmpty
                        ? probe.readings
                        : probe.readings.filter { selectedFields.contains($0.key) },
                    of: user
                )
                // A probe that maps none of the compared fields is skipped.
                if comparesMappedFieldsOnly, readings.isEmpty,
                    !selectedFields.isEmpty || openOrder.affects(user)
                {
                    continue
                }
                switch record.state(of: user, probe: probe.name) {
                case .document(let value):
                    let maskedDocument = masking.masked(value)
                    documents[userProbe] =
                        comparesMappedFieldsOnly
                        ? Self.onlyMappedFields(maskedDocument, readings) : maskedDocument
                case .missing: documents[userProbe] = .null
                case .unreadable(let reason): unreadable[userProbe] = reason
                case nil: break
                }
            }
        }
        self.documents = documents
        self.unreadable = unreadable
        unreliableProbes = Self.unreliableProbes(in: record)
        var effects: [EffectKey: [MaskedEffect]] = [:]
        for (effect, exchange) in record.effects {
            let effectKey = EffectKey(
                kind: effect.kind,
                recipients: effect.recipients.map(masking.replaceIDs).sorted()
            )
            effects[effectKey, default: []].append(
                MaskedEffect(
                    content: masking.masked(effect.content),
                    sequence: exchange.sequence
                )
            )
        }
        self.effects = effects
    }

    private static func unreliableProbes(in record: RunRecord) -> Set<UserProbe> {
        Set(
            record.exchanges.compactMap { exchange in
                guard exchange.completed != nil,
                    case .probe(let probe, let user) = exchange.purpose,
                    case .unreadable = ObservedState(exchange)
                else { return nil }
                return UserProbe(user: user, probe: probe)
            }
        )
    }

    /// Whether only the fields that the profile maps are compared, under their mapped names,
    /// instead of whole responses.
    private static func comparesMappedFieldsOnly(_ evidence: CaseEvidence) -> Bool {
        let expectation = evidence.expectation
        return (expectation.compared.contains(.fields) || !expectation.comparedFields.isEmpty)
            && evidence.profile.probes.contains { !$0.readings.isEmpty }
    }

    /// Returns the paths of the mapped fields of a probe that are compared for a user.
    ///
    /// The field `account` is left out, because the backend generates its value for every user.
    static func comparedPaths(
        of probe: Profile.Probe,
        for user: String,
        _ evidence: CaseEvidence
    ) -> [JSONPointer] {
        let selectedFields = evidence.expectation.comparedFields
        let openOrder = OpenOrder(evidence)
        return openOrder.comparableReadings(probe.readings, of: user).filter { name, _ in
            name != "account" && (selectedFields.isEmpty || selectedFields.contains(name))
        }.flatMap { name, reading in
            comparesMappedFieldsOnly(evidence) || openOrder.affects(user)
                ? [JSONPointer(tokens: [name])] : reading.conditions.map(\.pointer)
        }
    }

    private static func onlyMappedFields(
        _ document: JSONValue,
        _ readings: [String: Profile.FieldReading]
    ) -> JSONValue {
        .object(
            JSONObject(
                members: readings.sorted { $0.key < $1.key }.map {
                    let values = $0.value.conditions.map {
                        document[$0.pointer] ?? $0.valueIfPathAbsent ?? .null
                    }
                    return .init(key: $0.key, value: values.count == 1 ? values[0] : .array(values))
                }
            )
        )
    }
}
