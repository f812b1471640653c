internal import Conformance

/// Defects of the scripted app in paywalls and access to paid content.
extension ClientDefect {
    static let selling: [ClientDefect: ClientDeviation] = [
        .paywallUngated: {
            let correct = $0.mayOpen
            $0.mayOpen = { app in app.id != nil || correct(app) }
        },
        .gateShut: { $0.mayOpen = { _ in false } },
        .flagNotID: {
            $0.mayOpen = { app in app.isStarted && !app.isBusy && app.registeredID != nil }
        },
        .notGatedInFlight: {
            $0.mayOpen = { app in
                app.isStarted && app.registeredID != nil && app.registeredID == app.id
            }
        },
        .paywallOfBefore: {
            $0.buyer = { app in app.storage.retired.sorted().first ?? app.installID() }
        },
        .doubleTap: { $0.isOpening = { _ in false } },
        .grantsOnCallback: {
            let correct = $0.learnAccess
            $0.learnAccess = { app, now in
                app.hasAccess = true
                correct(&app, now)
            }
        },
        .callbackNeedsObject: {
            let correct = $0.purchased
            $0.purchased = { app, arguments, now in
                guard arguments.first?.object == nil else { return correct(&app, arguments, now) }
                app.output.append(.error("TypeError: cannot read properties of undefined"))
            }
        },
        .callbacksLate: {
            let correct = $0.callbacks
            $0.callbacks = { app in app.isPaywallOpen ? correct(app) : [] }
        },
        .paywallEncodedTwice: {
            let correct = $0.buyer
            $0.buyer = { app in correct(app).percentEncoded }
        },
        .oneSaleOnly: {
            let correct = $0.purchased
            $0.purchased = { app, arguments, now in
                let wasOpen = app.isPaywallOpen
                correct(&app, arguments, now)
                if arguments.first?["cancelled"] == true { app.isPaywallOpen = wasOpen }
            }
        },
        .neverUnlocks: { $0.learnAccess = { _, _ in } },
        .productIdentifier: { $0.product = { $0["productIdentifier"]?.string } },
        .silenceIsFree: { $0.withoutActive = { _ in "none" } },
    ]
}
