internal import Contracts
internal import Grammar
internal import Values

/// One expectation about the state after a phone's history, in the form that contracts use.
struct PhoneExpectation {
    let clause: String
    let addToExpectation: (inout AppExpectation) -> Void
}

extension PhoneModel {
    /// Returns all expectations that a correct app meets after this history.
    func expectations(at sourceLocation: SourceLocation) -> [PhoneExpectation] {
        var expectations = requiredInvariants.map { name in
            PhoneExpectation(clause: clause(of: name)) {
                $0.requiredInvariants.append(
                    AppExpectation.RequiredInvariant(name: name, location: sourceLocation)
                )
            }
        }
        func expectScreen(
            _ clause: String,
            _ expectedValue: [(AppExpectation.Screen.Element, JSONValue, Bool)]
        ) {
            expectations.append(
                PhoneExpectation(clause: clause) { app in
                    for (element, value, isNegated) in expectedValue {
                        var screen = AppExpectation.Screen(
                            element: element,
                            expectedValue: value,
                            location: sourceLocation
                        )
                        screen.isNegated = isNegated
                        app.screens.append(screen)
                    }
                }
            )
        }
        func expectCommand(_ clause: String, _ command: AppExpectation.Command) {
            expectations.append(PhoneExpectation(clause: clause) { $0.commands.append(command) })
        }
        if let expectedValue = identity {
            let identity = AppExpectation.Identity(
                phone: NameUses.defaultPhoneName,
                expectedValue: expectedValue,
                location: sourceLocation
            )
            expectations.append(
                PhoneExpectation(clause: identityClause(expectedValue)) {
                    $0.identities.append(identity)
                }
            )
        }
        // An app must stop waiting for a missing response after some time, so that its page does
        // not stay in the loading state.
        expectScreen("C-20", [(.loading, false, false)])
        switch access {
        case .no: expectScreen(hasLoggedOut ? "C-30" : "C-23", [(.access, false, false)])
        // RevenueCat treats a user ID in another form, such as an ID that was not decoded, as
        // another user.
        case .yes where areVaultValuesKeptRaw && hasSpecialCharacterIDs: break
        case .yes: expectScreen("C-23", [(.access, true, false)])
        case .undetermined: break
        }
        switch status {
        case .unknown: expectScreen("C-25", [(.status, "none", true)])
        case .active(let product):
            expectScreen("C-25", [(.status, "active", false), (.product, .string(product), false)])
        case nil: break
        }
        if let count = shownPaywallCount, count > 0 {
            expectCommand(
                "C-16",
                command(BridgeCommand.purchaseCommandScheme, at: count, nil, sourceLocation)
            )
        }
        if hasRestoredHistoryID, !mayEffectsBeMissing, !areAllRegistrationsFailing {
            var lock = command("setvault", at: 1, nil, sourceLocation)
            (lock.role, lock.value) = (.lock, "true")
            expectCommand("C-07", lock)
        }
        if vaultUser != nil, hasOnlyPageActions, !mayEffectsBeMissing, !isBrowser {
            expectCommand("C-02", command("getpurchasehistory", at: 0, 0, sourceLocation))
        }
        return expectations
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

    private func command(
        _ name: String,
        at countMin: Int,
        _ countMax: Int?,
        _ sourceLocation: SourceLocation
    ) -> AppExpectation.Command {
        AppExpectation.Command(
            name: name,
            countMin: countMin,
            countMax: countMax,
            location: sourceLocation
        )
    }

    private func clause(of invariant: AppInvariant) -> String {
        invariant == .unchanged && ineffectiveUserAction == .login ? "C-27" : invariant.clause
    }

    private func identityClause(_ expectedValue: AppExpectation.Identity.IdentityCondition)
        -> String
    {
        if expectedValue == .changed { return hasLostIDAfterLogout ? "C-31" : "C-30" }
        if case .notUser = expectedValue { return "C-06" }
        if hasRestoredHistoryID || hasAdoptedHistoryID { return "C-06" }
        return hasLoggedIn ? "C-28" : "C-05"
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
        if isBrowser { return [.silent, .unbroken] }
        if hasNoInstallID { return Self.missingInstallIDInvariants }
        if areAllRegistrationsFailing {
            return Self.failedRegistrationInvariants
                + (hadTimeForRetry ? [.registrationPausesGrow] : [])
        }
        let storedIDsDifferFromSetIDs = areVaultValuesKeptRaw && hasSpecialCharacterIDs
        var requiredInvariants =
            storedIDsDifferFromSetIDs ? Self.undecodedVaultInvariants : Self.requiredInvariants
        // The invariant compares the device ID with the phone's install ID, which changed during
        // the history.
        if isNewInstall { requiredInvariants.removeAll { $0 == .usesInstallIDAsDeviceID } }
        // Each of the two pages may register.
        if hadTwoPages { requiredInvariants.removeAll { $0 == .repeatsNoRegistration } }
        // The app may ignore a tap before its start is complete.
        if hasLoggedOut, !mayEffectsBeMissing {
            requiredInvariants += [.unguessable, .logoutClearsLockFirst]
        }
        if hasOnlyPageActions, !mayEffectsBeMissing {
            requiredInvariants.append(.registersSameUserID)
        }
        if hadPurchaseCallback, !mayEffectsBeMissing {
            requiredInvariants.append(.definesNativeCallbacks)
        }
        if storedIDsDifferFromSetIDs { return requiredInvariants }
        if hasAdoptedHistoryID { requiredInvariants.append(.writesLockBeforeRegistering) }
        // Right after the first launch, no late response of the native side may change the user ID.
        if userActionCount == 1 { requiredInvariants.append(.delayedRepliesKeepUserID) }
        if ineffectiveUserAction != nil { requiredInvariants.append(.unchanged) }
        return requiredInvariants
    }
}
