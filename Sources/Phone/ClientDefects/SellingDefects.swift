internal import Values

/// Defects of the scripted app in paywalls and access to paid content.
extension ClientDefect {
    static let selling: [ClientDefect] = [
        ClientDefect(
            "paywall-ungated",
            "a paywall opens before the user ID is registered",
            breaks: "C-16",
            "C-18"
        ) {
            let originalBehavior = $0.selling.mayOpenPaywall
            $0.selling.mayOpenPaywall = { app in app.id != nil || originalBehavior(app) }
        },
        ClientDefect(
            "gate-shut",
            "no paywall ever opens",
            breaks: "C-16"
        ) {
            $0.selling.mayOpenPaywall = { _ in false }
        },
        ClientDefect(
            "flag-not-id",
            "the registration of any user ID, not only the current one, allows a paywall",
            breaks: "C-16",
            "C-32",
            guideID: "X-55"
        ) {
            $0.selling.mayOpenPaywall = { app in
                app.hasFinishedStart && !app.isBusy && app.registeredID != nil
            }
        },
        ClientDefect(
            "not-gated-in-flight",
            "a paywall opens during a logout",
            breaks: "C-18",
            guideID: "X-43"
        ) {
            $0.selling.mayOpenPaywall = { app in
                app.hasFinishedStart && app.registeredID != nil && app.registeredID == app.id
            }
        },
        ClientDefect(
            "paywall-of-before",
            "a paywall gets the previous user ID",
            breaks: "C-17"
        ) {
            $0.selling.paywallUserID = { app in
                app.storage.retiredIDs.sorted().first ?? app.bridge.installID
            }
        },
        ClientDefect(
            "double-tap",
            "a second tap opens a second paywall",
            breaks: "C-19",
            guideID: "X-60"
        ) {
            $0.selling.isPaywallOpening = { _ in false }
        },
        ClientDefect(
            "grants-on-callback",
            "the purchase callback alone unlocks the paid content",
            breaks: "C-23"
        ) {
            let originalBehavior = $0.selling.requestAccess
            $0.selling.requestAccess = { app, now in
                app.page.hasAccess = true
                originalBehavior(&app, now)
            }
        },
        ClientDefect(
            "callback-needs-object",
            "a purchase callback without an argument throws an error",
            breaks: "C-24"
        ) {
            let originalBehavior = $0.selling.handlePurchaseCallback
            $0.selling.handlePurchaseCallback = { app, arguments, now in
                guard arguments.first?.object == nil else {
                    return originalBehavior(&app, arguments, now)
                }
                app.bridge.output.append(.error("TypeError: cannot read properties of undefined"))
            }
        },
        ClientDefect(
            "never-unlocks",
            "the app never asks the backend for access after a purchase",
            breaks: "C-23"
        ) {
            $0.selling.requestAccess = { _, _ in }
        },
        ClientDefect(
            "product-identifier",
            "the product of a purchase is read from the wrong field",
            breaks: "C-25",
            guideID: "X-47"
        ) {
            $0.selling.product = { $0["productIdentifier"]?.string }
        },
        ClientDefect(
            "silence-is-free",
            "a missing history reply is shown as 'no subscription'",
            breaks: "C-25",
            guideID: "X-48"
        ) {
            $0.selling.statusWithoutActivePurchase = { _ in "none" }
        },
        ClientDefect(
            "callbacks-late",
            "purchase callbacks are installed only when the first paywall opens",
            breaks: "C-24"
        ) {
            let originalBehavior = $0.selling.purchaseCallbacks
            $0.selling.purchaseCallbacks = { app in app.isPaywallOpen ? originalBehavior(app) : [] }
        },
        ClientDefect(
            "paywall-encoded-twice",
            "the user ID in a paywall command is percent-encoded twice",
            breaks: "C-21"
        ) {
            let originalBehavior = $0.selling.paywallUserID
            $0.selling.paywallUserID = { app in originalBehavior(app).percentEncoded }
        },
        ClientDefect(
            "one-sale-only",
            "no paywall opens after a canceled purchase",
            breaks: "C-19"
        ) {
            let originalBehavior = $0.selling.handlePurchaseCallback
            $0.selling.handlePurchaseCallback = { app, arguments, now in
                let wasOpen = app.isPaywallOpen
                originalBehavior(&app, arguments, now)
                if arguments.first?["cancelled"] == true { app.isPaywallOpen = wasOpen }
            }
        },
    ]
}
