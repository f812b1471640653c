package import Contracts
internal import Values

/// Recognizes a profile that maps a stored flag as `access`, instead of the backend's access rule.
///
/// A stored flag stays true when a purchase ends without an event. The backend may still refuse
/// access, because its access rule also compares the date.
package enum StoredAccessFlag {
    /// Asks whether `access` is the access rule.
    ///
    /// - Parameters:
    ///   - record: A run after whose steps the probes were read.
    ///   - profile: The profile that maps `access` and `expires`.
    /// - Returns: The question; nil if no state of a user shows `access` and a passed `expires`
    ///   together.
    package static func question(about record: RunRecord, _ profile: Profile) -> String? {
        guard let (accessProbe, access) = profile.probe(reading: "access"),
            let (endProbe, end) = profile.probe(reading: "expires")
        else { return nil }
        if case .isFuture = access.meaning { return nil }
        let now = record.lastProbeTime
        for user in record.plan.users {
            guard case .document(let accessState) = record.state(of: user, probe: accessProbe.name),
                case .document(let endState) = record.state(of: user, probe: endProbe.name),
                let accessValue = accessState[access.pointer],
                StateRule.value(accessValue, access.meaning, field: "access", at: now)?.bool
                    == true,
                let endValue = endState[end.pointer], let endTime = Instant(timeValue: endValue),
                endTime < now
            else { continue }
            return "probe '\(accessProbe.name)' shows access at \(access.pointer) although "
                + "\(end.pointer) has passed: is this value your access rule or a stored flag? "
                + "Map the value by which the backend itself decides, or write "
                + "'access: {at: \(end.pointer), after: now}'"
        }
        return nil
    }
}
