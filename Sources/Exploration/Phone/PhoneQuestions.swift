internal import Conformance

/// One expectation about the state after a phone's history, in the form that contracts use.
struct PhoneQuestion {
    let clause: String
    let ask: (inout AppExpectation) -> Void
}

extension PhoneModel {
    /// Returns everything that a correct app must fulfill after this history.
    func questions(at place: SourceLocation) -> [PhoneQuestion] {
        var questions = promises.map { name in
            PhoneQuestion(clause: clause(of: name)) {
                $0.promises.append(AppExpectation.Promise(name: name, location: place))
            }
        }
        func show(_ clause: String, _ wanted: [(AppExpectation.Screen.Element, JSONValue, Bool)]) {
            questions.append(
                PhoneQuestion(clause: clause) { app in
                    for (element, value, isNot) in wanted {
                        var screen = AppExpectation.Screen(
                            element: element,
                            wanted: value,
                            location: place
                        )
                        screen.isNot = isNot
                        app.screens.append(screen)
                    }
                }
            )
        }
        func send(_ clause: String, _ command: AppExpectation.Command) {
            questions.append(PhoneQuestion(clause: clause) { $0.commands.append(command) })
        }
        if let wanted = identity {
            let identity = AppExpectation.Identity(
                phone: Names.usualPhone,
                wanted: wanted,
                location: place
            )
            questions.append(
                PhoneQuestion(clause: identityClause(wanted)) { $0.identities.append(identity) }
            )
        }
        // An app that waits for a response must give up at some time, so the page does not stay
        // loading.
        show("C-20", [(.loading, false, false)])
        switch access {
        case .no: show(hasLoggedOut ? "C-30" : "C-23", [(.access, false, false)])
        // In another form, such as without decoding, a user ID is another user for RevenueCat.
        case .yes where isRaw && hasHardIDs: break
        case .yes: show("C-23", [(.access, true, false)])
        case .open: break
        }
        switch status {
        case .unknown: show("C-25", [(.status, "none", true)])
        case .active(let product):
            show("C-25", [(.status, "active", false), (.product, .string(product), false)])
        case nil: break
        }
        if let count = paywallCount, count > 0 {
            send("C-16", command(BridgeCommand.sellingScheme, at: count, nil, place))
        }
        if hasRestored, !isDisturbed, !isShut {
            var lock = command("setvault", at: 1, nil, place)
            (lock.role, lock.value) = (.lock, "true")
            send("C-07", lock)
        }
        if vaultUser != nil, isOnlyOpened, !isDisturbed, !isBrowser {
            send("C-02", command("getpurchasehistory", at: 0, 0, place))
        }
        return questions
    }

    /// The IDs of the contract clauses that the history of a phone can test.
    static var clauses: [String] {
        let asked =
            promises + [.silent, .lockedFirst, .unguessable, .calledBack, .sameID, .backsOff]
        let others = [
            "C-02", "C-05", "C-06", "C-16", "C-20", "C-23", "C-25", "C-26", "C-27", "C-28", "C-30",
            "C-31", "C-34",
        ]
        return Set(asked.map(\.clause) + others).sorted()
    }

    private func command(
        _ name: String,
        at countMin: Int,
        _ countMax: Int?,
        _ place: SourceLocation
    ) -> AppExpectation.Command {
        AppExpectation.Command(
            name: name,
            countMin: countMin,
            countMax: countMax,
            location: place
        )
    }

    private func clause(of promise: ClientPromise) -> String {
        promise == .unchanged && idleGesture == .login ? "C-27" : promise.clause
    }

    private func identityClause(_ wanted: AppExpectation.Identity.Wanted) -> String {
        if wanted == .changed { return hasLostLeft ? "C-31" : "C-30" }
        if case .notUser = wanted { return "C-06" }
        if hasRestored || hasAdopted { return "C-06" }
        return hasLoggedIn ? "C-28" : "C-05"
    }

    // MARK: Invariants

    /// The invariants that a correct app keeps in an ordinary history.
    private static let promises: [ClientPromise] = [
        .usableIDs, .writtenFirst, .aliased, .oneIdentity, .registersHonestly, .registersOnce,
        .wholeRegistrations, .steadyDevice, .registeredBeforePaywall, .onePurchaser, .gated,
        .singlePaywall, .encoded, .loginNamesCurrent, .readsInTurn, .privateVault, .unbroken,
        .resolvesOnce,
    ]

    /// The invariants that a correct app keeps even when no registration succeeds.
    private static let shutPromises: [ClientPromise] = [
        .usableIDs, .registeredBeforePaywall, .singlePaywall, .encoded, .privateVault, .unbroken,
        .readsInTurn,
    ]

    /// The invariants that a correct app keeps when registrations are incomplete, because the
    /// install ID is missing.
    private static let namelessPromises: [ClientPromise] = [
        .usableIDs, .steadyDevice, .registeredBeforePaywall, .singlePaywall, .encoded,
        .privateVault, .unbroken, .readsInTurn,
    ]

    /// The invariants that a correct app keeps when the vault and the OneSignal alias contain IDs
    /// in another form than the backend.
    private static let rawPromises: [ClientPromise] = [
        .usableIDs, .registersHonestly, .wholeRegistrations, .steadyDevice,
        .registeredBeforePaywall,
        .gated, .singlePaywall, .encoded, .privateVault, .unbroken,
        .readsInTurn, .resolvesOnce,
    ]

    /// The invariants that a correct app keeps in this history.
    private var promises: [ClientPromise] {
        if isBrowser { return [.silent, .unbroken] }
        if isNameless { return Self.namelessPromises }
        if isShut { return Self.shutPromises + (isTriedAgain ? [.backsOff] : []) }
        let isInAnotherForm = isRaw && hasHardIDs
        var promises = isInAnotherForm ? Self.rawPromises : Self.promises
        // The device ID is the install ID of the phone, which has changed.
        if isNewInstall { promises.removeAll { $0 == .steadyDevice } }
        // Each of the two pages may register.
        if wasDoubled { promises.removeAll { $0 == .registersOnce } }
        // The app may ignore a tap before its start is complete.
        if hasLoggedOut, !isDisturbed { promises += [.unguessable, .unlocksFirst] }
        if isOnlyOpened, !isDisturbed { promises.append(.sameID) }
        if hasCallback, !isDisturbed { promises.append(.calledBack) }
        if isInAnotherForm { return promises }
        if hasAdopted { promises.append(.lockedFirst) }
        // Right after the first launch, no late response of the native side may change the user ID.
        if gestureCount == 1 { promises.append(.steadyID) }
        if idleGesture != nil { promises.append(.unchanged) }
        return promises
    }
}
