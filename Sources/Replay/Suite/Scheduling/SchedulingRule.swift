internal import Contracts
internal import Providers

/// The rule by which a suite schedules a case.
///
/// The target of the suite declares it for each case. An instance of the backend takes its cases in the order of these values.
package enum SchedulingRule: Hashable, Sendable, CaseIterable {
    /// The case runs exclusively, before all other cases of its instance, because it affects every
    /// user that the backend knows.
    ///
    /// If the case ran later, it would change the users of earlier cases, and the large number of
    /// users would slow it down.
    case beforeEverything
    /// The case shares its instance with other cases that run at the same time.
    case concurrent
    /// The case needs its instance for itself while it runs.
    case exclusive
    /// The case runs exclusively, after the cases with the earlier rules, because it sets the
    /// backend's clock ahead, which the backend may remember.
    case movesClock
    /// The case runs exclusively, on an instance for such cases or after all other results are
    /// final, because it may leave its instance unusable.
    case degradesInstance

    /// Whether other cases may run on the same instance at the same time.
    var sharesInstance: Bool { self == .concurrent }

    /// Whether the result is revised before the next case runs.
    ///
    /// The cases change what happens to all users, so later entries in the journal are not their
    /// effects.
    var isRevisedAtOnce: Bool { self == .beforeEverything || self == .degradesInstance }

    /// Whether any instance of the backend may take the case.
    ///
    /// Enough of these cases justify an additional instance.
    var runsOnAnyInstance: Bool { self == .exclusive || self == .movesClock }

    /// Whether slow cases start before fast ones, so that no slow case is left for the end.
    var startsSlowCasesFirst: Bool { !isRevisedAtOnce }
}

/// A case as its schedule sees it.
struct ScheduledCase: Hashable, Sendable {
    /// The duration that the scheduler expects, longest first.
    enum ExpectedDuration: Hashable, Sendable, CaseIterable {
        /// The case consists of many runs, or waits for a subscription to end.
        case long
        /// The case waits for the backend to recover from a fault.
        case medium
        case short
    }

    /// The position of the case in the suite, counted from 0.
    let index: Int
    let rule: SchedulingRule
    let expectedDuration: ExpectedDuration
    /// The ID of the contract, whose variants share baseline runs on one instance.
    let contractID: String
    var decisiveness = Decisiveness.other
}

/// The subject of a case, in the order in which the subjects decide about a backend.
///
/// A run that may end early starts with the first subjects: many other cases fail if these fail.
enum Decisiveness: Int, Hashable, Sendable, CaseIterable {
    /// Senders with a wrong or a missing proof.
    case authorization
    /// One fault-free event about a registered user.
    case plainEvent
    /// One fault-free event about a user who has not registered.
    case unknownUser
    /// The same event twice or more, without other faults.
    case duplicate
    case other

    init(_ plan: CasePlan) {
        let deliveries = plan.subject.deliveries
        let registeredUsers = Set(
            plan.subject.steps.flatMap { $0.traits.createsUserOrAccount ? $0.traits.users : [] }
        )
        let isPlain = !plan.subject.hasFaults && plan.contract.search == nil
        let original = deliveries.first
        let isSingleEvent =
            original?.event != nil && original?.changesBody == false
            && deliveries.dropFirst().allSatisfy { delivery in
                if case .repeats = delivery.subject { true } else { false }
            }
        let copyCount = deliveries.reduce(0) { $0 + $1.times }
        self =
            if plan.contract.allRequiredFeatures.contains(.authorization) {
                .authorization
            } else if !isPlain || !isSingleEvent {
                .other
            } else if copyCount > 1 {
                .duplicate
            } else if registeredUsers.isSuperset(of: original?.users ?? []) {
                .plainEvent
            } else {
                .unknownUser
            }
    }
}

extension ScheduledCase {
    init(_ plan: CasePlan, index: Int, rule: SchedulingRule) {
        self.init(
            index: index,
            rule: rule,
            expectedDuration: plan.isLongRunning
                ? .long : plan.subject.hasFaults ? .medium : .short,
            contractID: plan.contract.id,
            decisiveness: Decisiveness(plan)
        )
    }
}
