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
    /// The users whose state the case reads although it creates them nowhere.
    package var readUsersWithoutRegistration: [String] {
        let createdUsers = Set((given + steps).compactMap(\.createdUser))
        return expectation.states.flatMap(\.users).filter { !createdUsers.contains($0) }
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

    /// The calls of the step that the app makes.
    fileprivate var calls: [Call] {
        if case .call(let calls) = self { calls } else { [] }
    }
}
