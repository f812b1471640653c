internal import Contracts

/// The users of a run whom a registration and an event name in an open order: the backend decides
/// which of the two it applies first.
///
/// A backend may respond to an event and apply it later, so a registration that follows the delivery
/// may come first. Both orders are correct, but they leave a lasting difference: the backend records
/// whether the event or the registration created the user (S-21). So the order is open for a user
/// whom a delivery names before, or at the same time as, the registration. It is fixed when the
/// registration comes first, or when the case waits between the two for the backend to finish: at
/// the end of the steps that only prepare the case.
struct OpenOrder: Sendable {
    /// The state fields whose value depends on the order of a registration and an event.
    static let dependentFields: Set<String> = ["source"]

    /// The names of the users.
    let users: Set<String>
    private let comparesDependentFields: Bool

    init(_ evidence: CaseEvidence) {
        users = ([evidence.subject.plan] + evidence.baselines.map(\.plan)).reduce(into: []) {
            $0.formUnion(Self.users(in: $1))
        }
        comparesDependentFields = !Self.dependentFields.isDisjoint(
            with: evidence.expectation.comparedFields
        )
    }

    /// Whether runs may end with different values for this user, because their order is open.
    ///
    /// A contract that names such a field in `compare` fixes the order itself.
    func affects(_ user: String) -> Bool { !comparesDependentFields && users.contains(user) }

    /// Returns the readings of a probe whose values are equal in every permitted order.
    func comparableReadings(
        _ readings: [String: Profile.FieldReading],
        of user: String
    ) -> [String: Profile.FieldReading] {
        affects(user) ? readings.filter { !Self.dependentFields.contains($0.key) } : readings
    }

    private static func users(in plan: RunPlan) -> Set<String> {
        var users: Set<String> = []
        var usersOfEvents: Set<String> = []
        var registeredUsers: Set<String> = []
        for (index, step) in plan.steps.enumerated() {
            if index == plan.preparationStepCount { usersOfEvents = [] }
            if case .deliver(let delivery) = step {
                usersOfEvents.formUnion(delivery.users)
            }
            for user in step.registeredUsers where registeredUsers.insert(user).inserted {
                if usersOfEvents.contains(user) { users.insert(user) }
            }
        }
        return users
    }
}

extension Step {
    /// The users whom the app registers or signs in with this step.
    fileprivate var registeredUsers: [String] {
        switch self {
        case .register(let user): [user]
        case .call(let calls):
            calls.filter { $0.route == .register || $0.route == .login }.compactMap(\.user)
        case .deliver, .probe, .waitForEnd, .request, .provider, .restart, .name, .createAccount,
            .rotateKeys, .killAtCall, .account, .phone:
            []
        }
    }
}
