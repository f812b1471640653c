internal import Contracts
internal import Providers
internal import Values

/// The result of the profile's probes about the existence of a user at the end of a run.
///
/// The probe `user` decides if the profile has it. Otherwise, a probe decides that is known to
/// return existing users and nothing for unknown IDs. Without such a probe, the user exists if any
/// probe finds the user.
enum UserExistence: Hashable {
    case found
    case missing
    /// No probe shows whether the user exists, with the reason.
    case unknown(reason: String)

    /// Reads the existence of a user from the last probe responses of a run.
    ///
    /// `countsRefusedLookups` says whether a refused lookup means that the user does not exist: a
    /// backend may refuse to look up an ID that it would never accept.
    init(
        of user: String,
        in record: RunRecord,
        _ evidence: CaseEvidence,
        countsRefusedLookups: Bool
    ) {
        let probes = evidence.profile.probes
        let probeForExistence =
            probes.first { $0.name == "user" }
            ?? probes.first {
                evidence.observability.probesShowingExistence?.contains($0.name) == true
            }
        let presencesInProbes = (probeForExistence.map { [$0] } ?? probes).compactMap {
            probe -> UserPresence? in
            if countsRefusedLookups, record.refusesLookup(of: user, probe: probe.name) {
                return .missing
            }
            let presence = Self.presence(of: user, by: probe.name, in: record, evidence)
            return presence == .found && countsRefusedLookups
                && Self.mayCreateUser(probe, user, record, evidence) ? .sameAsUnknownUser : presence
        }
        if presencesInProbes.contains(.found) {
            self = .found
        } else if probeForExistence != nil, presencesInProbes == [.missing] {
            self = .missing
        } else {
            self = .unknown(
                reason: presencesInProbes.contains(.sameAsUnknownUser)
                    ? "the probe returns the same response for an unknown ID"
                    : probeForExistence.map {
                        "the response of probe '\($0.name)' could not be read"
                    }
                        ?? "no probe of the profile can distinguish an unknown ID from a "
                        + "registered user without purchases"
            )
        }
    }

    /// Returns whether a probe may itself have created the user that it finds: it returns a document
    /// about an unknown user too, in which every mapped field has the same value and only strings
    /// and numbers differ, such as IDs and dates.
    private static func mayCreateUser(
        _ probe: Profile.Probe,
        _ user: String,
        _ record: RunRecord,
        _ evidence: CaseEvidence
    ) -> Bool {
        guard let unknown = evidence.observability.unknownUserDocuments?[probe.name],
            case .document(let document) = record.state(of: user, probe: probe.name),
            !probe.readings.isEmpty
        else { return false }
        let areFieldsEqual = probe.readings.values.allSatisfy { reading in
            reading.conditions.allSatisfy { document[$0.pointer] == unknown[$0.pointer] }
        }
        return areFieldsEqual
            && document.differences(from: unknown).allSatisfy { difference in
                switch (difference.left, difference.right) {
                case (.string, .string), (.number, .number): true
                default: false
                }
            }
    }

    private enum UserPresence { case found, missing, sameAsUnknownUser, unclear }

    /// Returns whether a probe finds the user; nil when the probe was not sent.
    ///
    /// For comparison, each probe's response about an unknown ID was recorded before the first
    /// case.
    private static func presence(
        of user: String,
        by probe: String,
        in record: RunRecord,
        _ evidence: CaseEvidence
    ) -> UserPresence? {
        switch record.state(of: user, probe: probe) {
        case nil: return nil
        case .missing: return .missing
        case .unreadable: return .unclear
        case .document(let document):
            let id = record.namespace.id(of: user)
            guard document.leavingOut(id: id) == evidence.observability.unknownUserDocuments?[probe]
            else {
                return .found
            }
            return evidence.observability.probesNotShowingExistence?.contains(probe) == true
                ? .sameAsUnknownUser : .missing
        }
    }
}
