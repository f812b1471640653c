internal import Grammar

extension Contract {
    /// The contract with a registration of each user who calls the protected route without one.
    ///
    /// A backend may return 404 for an unknown user, and an app registers its user before it calls
    /// this route. Users under `unknown-users` stay unknown.
    var registeringCallers: Contract {
        let allSteps = given + steps
        let createdUsers = Set(allSteps.compactMap(\.createdUser))
        let callers = allSteps.flatMap(\.calls).filter { $0.route == .protected }
            .compactMap(\.user)
        var users: [String] = []
        for user in callers
        where !users.contains(user) && !createdUsers.contains(user)
            && unknownUsers?.contains(user) != true
        {
            users.append(user)
        }
        var contract = self
        contract.given.insert(contentsOf: users.map { .register(user: $0) }, at: 0)
        return contract
    }
}

extension Contract {
    /// The users whose state the case reads although nothing creates them in the backend; empty if an
    /// app sends requests, because these may create users.
    ///
    /// A comparison with a baseline run reads the state of every user of the case.
    package var readUsersWithoutRegistration: [String] {
        guard !(given + steps).contains(where: \.isOfApp) else { return [] }
        let isStateCompared =
            expectation.relation != nil
            && !expectation.compared.isDisjoint(with: [.state, .fields])
        let readUsers = expectation.states.flatMap(\.users) + (isStateCompared ? users : [])
        let registeredUsers = Set((given + steps).compactMap(\.registeredUser))
        return readUsers.filter { !registeredUsers.contains($0) }
    }
}

extension Step {
    /// The user whom the step creates in the backend; nil for any other step.
    fileprivate var createdUser: String? {
        switch self {
        case .register(let user), .name(let user, _): return user
        default: break
        }
        return calls.first { $0.route == .register }?.user
    }

    /// Whether an app sends requests in the step, other than a registration.
    fileprivate var isOfApp: Bool {
        switch self {
        case .createAccount, .call, .request, .phone: true
        case .register, .name, .deliver, .waitForEnd, .probe, .provider, .restart, .rotateKeys,
            .killAtCall, .account:
            false
        }
    }

    /// The user whom the step registers in the backend; nil for any other step.
    ///
    /// A name for an ID that the contract itself chooses does not register a user.
    fileprivate var registeredUser: String? {
        if case .name(_, let id) = self, Template(id).names.isEmpty { return nil }
        return createdUser
    }

    /// The calls of the step that the app makes.
    fileprivate var calls: [Call] {
        if case .call(let calls) = self { calls } else { [] }
    }
}
