internal import Conformance

/// Defects of the scripted app in paywalls and access to paid content.
extension ClientDefect {
    static let selling: [ClientDefect: ClientDeviation] = [
        .paywallUngated: {
            let correct = $0.mayOpenPaywall
            $0.mayOpenPaywall = { app in app.id != nil || correct(app) }
        },
        .gateShut: { $0.mayOpenPaywall = { _ in false } },
        .flagNotID: {
            $0.mayOpenPaywall = { app in app.isStarted && !app.isBusy && app.registeredID != nil }
        },
        .notGatedInFlight: {
            $0.mayOpenPaywall = { app in
                app.isStarted && app.registeredID != nil && app.registeredID == app.id
            }
        },
        .paywallOfBefore: {
            $0.paywallUserID = { app in app.storage.retiredIDs.sorted().first ?? app.installID() }
        },
        .doubleTap: { $0.isPaywallOpening = { _ in false } },
        .grantsOnCallback: {
            let correct = $0.requestAccess
            $0.requestAccess = { app, now in
                app.hasAccess = true
                correct(&app, now)
            }
        },
        .callbackNeedsObject: {
            let correct = $0.handlePurchaseCallback
            $0.handlePurchaseCallback = { app, arguments, now in
                guard arguments.first?.object == nil else { return correct(&app, arguments, now) }
                app.output.append(.error("TypeError: cannot read properties of undefined"))
            }
        },
        .callbacksLate: {
            let correct = $0.purchaseCallbacks
            $0.purchaseCallbacks = { app in app.isPaywallOpen ? correct(app) : [] }
        },
        .paywallEncodedTwice: {
            let correct = $0.paywallUserID
            $0.paywallUserID = { app in correct(app).percentEncoded }
        },
        .oneSaleOnly: {
            let correct = $0.handlePurchaseCallback
            $0.handlePurchaseCallback = { app, arguments, now in
                let wasOpen = app.isPaywallOpen
                correct(&app, arguments, now)
                if arguments.first?["cancelled"] == true { app.isPaywallOpen = wasOpen }
            }
        },
        .neverUnlocks: { $0.requestAccess = { _, _ in } },
        .productIdentifier: { $0.product = { $0["productIdentifier"]?.string } },
        .silenceIsFree: { $0.statusWithoutActivePurchase = { _ in "none" } },
    ]
}
