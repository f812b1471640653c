internal import Contracts
internal import Grammar
internal import Providers
internal import Values

/// One expectation about the state after a phone's history, in the form that contracts use.
struct PhoneExpectation {
    let clause: String
    let addToExpectation: (inout AppExpectation) -> Void
}

/// The expectations that a correct app meets after the history of a phone.
struct PhoneExpectations {
    /// The model of the app after the history.
    let model: PhoneModel
    /// The location in the contract to which the expectations refer.
    let sourceLocation: SourceLocation

    /// All expectations, the invariants first.
    var all: [PhoneExpectation] {
        let invariants = requiredInvariants.map { name in
            PhoneExpectation(clause: clause(of: name)) {
                $0.requiredInvariants.append(
                    AppExpectation.RequiredInvariant(name: name, location: sourceLocation)
                )
            }
        }
        return invariants + identityExpectations + screenExpectations + commandExpectations
    }

    // MARK: Identity

    private var identityExpectations: [PhoneExpectation] {
        guard let expectedUser else { return [] }
        let identity = AppExpectation.Identity(
            phone: NameUses.defaultPhoneName,
            expectedValue: expectedUser,
            location: sourceLocation
        )
        return [
            PhoneExpectation(clause: identityClause(expectedUser)) {
                $0.identities.append(identity)
            }
        ]
    }

    /// The user ID that the phone must have; nil where the identity rules do not determine it.
    private var expectedUser: AppExpectation.Identity.IdentityCondition? {
        guard !model.faults.mayEffectsBeMissing, model.hasLaunched, !model.isBrowser,
            !model.faults.areAllRegistrationsFailing
        else { return nil }
        return switch model.identity.user {
        case .user(let user): .user(user)
        case .otherUser: .changed
        case .anyUserExcept(let user): .notUser(user)
        case .undetermined: nil
        }
    }

    private func identityClause(_ expectedUser: AppExpectation.Identity.IdentityCondition)
        -> String
    {
        let identity = model.identity
        if expectedUser == .changed { return identity.hasLostIDAfterLogout ? "C-31" : "C-30" }
        if case .notUser = expectedUser { return "C-06" }
        if identity.hasRestoredHistoryID || identity.hasAdoptedHistoryID { return "C-06" }
        return identity.hasLoggedIn ? "C-28" : "C-05"
    }

    // MARK: Page

    private typealias ExpectedElement = (
        element: AppExpectation.Screen.Element, value: JSONValue, isNegated: Bool
    )

    private var screenExpectations: [PhoneExpectation] {
        // An app must stop waiting for a missing response after some time, so that its page does
        // not stay in the loading state.
        var expectations = [screen("C-20", [(.loading, false, false)])]
        switch model.access {
        case .no:
            let clause = model.identity.hasLoggedOut ? "C-30" : "C-23"
            expectations.append(screen(clause, [(.access, false, false)]))
        // RevenueCat treats a user ID in another form, such as an ID that was not decoded, as
        // another user.
        case .yes where areStoredIDsInOtherForm: break
        case .yes: expectations.append(screen("C-23", [(.access, true, false)]))
        case .undetermined: break
        }
        switch model.status {
        case .unknown: expectations.append(screen("C-25", [(.status, "none", true)]))
        case .active(let product):
            expectations.append(
                screen(
                    "C-25",
                    [(.status, "active", false), (.product, .string(product), false)]
                )
            )
        case nil: break
        }
        return expectations
    }

    private func screen(_ clause: String, _ expectedElements: [ExpectedElement])
        -> PhoneExpectation
    {
        PhoneExpectation(clause: clause) { app in
            for expected in expectedElements {
                var screen = AppExpectation.Screen(
                    element: expected.element,
                    expectedValue: expected.value,
                    location: sourceLocation
                )
                screen.isNegated = expected.isNegated
                app.screens.append(screen)
            }
        }
    }

    /// Whether the vault and the OneSignal alias contain IDs in another form than the backend.
    private var areStoredIDsInOtherForm: Bool {
        model.faults.areVaultValuesKeptRaw && model.hasSpecialCharacterIDs
    }

    // MARK: Commands

    private var commandExpectations: [PhoneExpectation] {
        var expectations: [PhoneExpectation] = []
        func expectCommand(_ clause: String, _ command: AppExpectation.Command) {
            expectations.append(PhoneExpectation(clause: clause) { $0.commands.append(command) })
        }
        if let count = model.paymentSheet.shownPaywallCount, count > 0 {
            expectCommand("C-16", command(BridgeCommand.purchaseCommandScheme, at: count, nil))
        }
        if model.identity.hasRestoredHistoryID, !model.faults.mayEffectsBeMissing,
            !model.faults.areAllRegistrationsFailing
        {
            var lock = command("setvault", at: 1, nil)
            (lock.role, lock.value) = (.lock, "true")
            expectCommand("C-07", lock)
        }
        if model.vaultUser != nil, model.hasOnlyPageActions, !model.faults.mayEffectsBeMissing,
            !model.isBrowser
        {
            expectCommand("C-02", command("getpurchasehistory", at: 0, 0))
        }
        return expectations
    }

    private func command(_ name: String, at countMin: Int, _ countMax: Int?)
        -> AppExpectation.Command
    {
        AppExpectation.Command(
            name: name,
            countMin: countMin,
            countMax: countMax,
            location: sourceLocation
        )
    }

    /// The IDs of the contract clauses that the history of a phone can test.
    static var clauses: [String] {
        let allInvariants =
            requiredInvariants + [
                .silent, .writesLockBeforeRegistering, .unguessable, .definesNativeCallbacks,
                .registersSameUserID, .registrationPausesGrow,
            ]
        let otherClauses = [
            "C-02", "C-05", "C-06", "C-16", "C-20", "C-23", "C-25", "C-26", "C-27", "C-28", "C-30",
            "C-31", "C-34",
        ]
        return Set(allInvariants.map(\.clause) + otherClauses).sorted()
    }

    private func clause(of invariant: AppInvariant) -> String {
        invariant == .unchanged && model.ineffectiveUserAction == .login ? "C-27" : invariant.clause
    }

    // MARK: Invariants

    /// The invariants that a correct app keeps in an ordinary history.
    private static let requiredInvariants: [AppInvariant] = [
        .usableIDs, .writesIDBeforeRegistering, .aliased, .endsWithOneUserID,
        .retriesFailedRegistrations, .repeatsNoRegistration,
        .completeRegistrations, .usesInstallIDAsDeviceID, .registeredBeforePaywall,
        .paywallUsesCurrentID, .gated,
        .singlePaywall, .encoded, .loginSendsCurrentID, .vaultReadsNeverOverlap,
        .vaultHoldsNoPrivateValues, .unbroken,
        .determinesUserIDOncePerPage,
    ]

    /// The invariants that a correct app keeps even when no registration succeeds.
    private static let failedRegistrationInvariants: [AppInvariant] = [
        .usableIDs, .registeredBeforePaywall, .singlePaywall, .encoded, .vaultHoldsNoPrivateValues,
        .unbroken,
        .vaultReadsNeverOverlap,
    ]

    /// The invariants that a correct app keeps when registrations are incomplete, because the
    /// install ID is missing.
    private static let missingInstallIDInvariants: [AppInvariant] = [
        .usableIDs, .usesInstallIDAsDeviceID, .registeredBeforePaywall, .singlePaywall, .encoded,
        .vaultHoldsNoPrivateValues, .unbroken, .vaultReadsNeverOverlap,
    ]

    /// The invariants that a correct app keeps when the vault and the OneSignal alias contain IDs
    /// in another form than the backend.
    private static let undecodedVaultInvariants: [AppInvariant] = [
        .usableIDs, .retriesFailedRegistrations, .completeRegistrations, .usesInstallIDAsDeviceID,
        .registeredBeforePaywall,
        .gated, .singlePaywall, .encoded, .vaultHoldsNoPrivateValues, .unbroken,
        .vaultReadsNeverOverlap, .determinesUserIDOncePerPage,
    ]

    /// The invariants that a correct app keeps in this history.
    private var requiredInvariants: [AppInvariant] {
        if model.isBrowser { return [.silent, .unbroken] }
        if model.hasNoInstallID { return Self.missingInstallIDInvariants }
        if model.faults.areAllRegistrationsFailing {
            return Self.failedRegistrationInvariants
                + (model.hadTimeForRetry ? [.registrationPausesGrow] : [])
        }
        var requiredInvariants =
            areStoredIDsInOtherForm ? Self.undecodedVaultInvariants : Self.requiredInvariants
        // The invariant compares the device ID with the phone's install ID, which changed during
        // the history.
        if model.isNewInstall { requiredInvariants.removeAll { $0 == .usesInstallIDAsDeviceID } }
        // Each of the two pages may register.
        if model.hadTwoPages { requiredInvariants.removeAll { $0 == .repeatsNoRegistration } }
        // The app may ignore a tap before its start is complete.
        if model.identity.hasLoggedOut, !model.faults.mayEffectsBeMissing {
            requiredInvariants += [.unguessable, .logoutClearsLockFirst]
        }
        if model.hasOnlyPageActions, !model.faults.mayEffectsBeMissing {
            requiredInvariants.append(.registersSameUserID)
        }
        if model.hadPurchaseCallback, !model.faults.mayEffectsBeMissing {
            requiredInvariants.append(.definesNativeCallbacks)
        }
        if areStoredIDsInOtherForm { return requiredInvariants }
        if model.identity.hasAdoptedHistoryID {
            requiredInvariants.append(.writesLockBeforeRegistering)
        }
        // Right after the first launch, no late response of the native side may change the user ID.
        if model.userActionCount == 1 { requiredInvariants.append(.delayedRepliesKeepUserID) }
        if model.ineffectiveUserAction != nil { requiredInvariants.append(.unchanged) }
        return requiredInvariants
    }
}
