internal import Values

/// Defects of the scripted app in paywalls and access to paid content.
extension ClientDefect {
    static let sellingDeviations: [ClientDefect: ClientDeviation] = [
        .opensPaywallBeforeRegistration: {
            let originalBehavior = $0.mayOpenPaywall
            $0.mayOpenPaywall = { app in app.id != nil || originalBehavior(app) }
        },
        .neverOpensPaywall: { $0.mayOpenPaywall = { _ in false } },
        .allowsPaywallForAnyRegisteredID: {
            $0.mayOpenPaywall = { app in
                app.hasFinishedStart && !app.isBusy && app.registeredID != nil
            }
        },
        .opensPaywallDuringLogout: {
            $0.mayOpenPaywall = { app in
                app.hasFinishedStart && app.registeredID != nil && app.registeredID == app.id
            }
        },
        .opensPaywallForPreviousUser: {
            $0.paywallUserID = { app in app.storage.retiredIDs.sorted().first ?? app.installID() }
        },
        .opensSecondPaywallOnDoubleTap: { $0.isPaywallOpening = { _ in false } },
        .grantsAccessOnCallback: {
            let originalBehavior = $0.requestAccess
            $0.requestAccess = { app, now in
                app.hasAccess = true
                originalBehavior(&app, now)
            }
        },
        .callbackRequiresArgument: {
            let originalBehavior = $0.handlePurchaseCallback
            $0.handlePurchaseCallback = { app, arguments, now in
                guard arguments.first?.object == nil else {
                    return originalBehavior(&app, arguments, now)
                }
                app.output.append(.error("TypeError: cannot read properties of undefined"))
            }
        },
        .installsCallbacksLate: {
            let originalBehavior = $0.purchaseCallbacks
            $0.purchaseCallbacks = { app in app.isPaywallOpen ? originalBehavior(app) : [] }
        },
        .encodesPaywallIDTwice: {
            let originalBehavior = $0.paywallUserID
            $0.paywallUserID = { app in originalBehavior(app).percentEncoded }
        },
        .blocksPaywallAfterCancellation: {
            let originalBehavior = $0.handlePurchaseCallback
            $0.handlePurchaseCallback = { app, arguments, now in
                let wasOpen = app.isPaywallOpen
                originalBehavior(&app, arguments, now)
                if arguments.first?["cancelled"] == true { app.isPaywallOpen = wasOpen }
            }
        },
        .neverRequestsAccessAfterPurchase: { $0.requestAccess = { _, _ in } },
        .readsWrongProductField: { $0.product = { $0["productIdentifier"]?.string } },
        .showsNoSubscriptionOnMissingReply: { $0.statusWithoutActivePurchase = { _ in "none" } },
    ]
}
