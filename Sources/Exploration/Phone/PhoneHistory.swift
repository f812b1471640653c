package import Contracts
internal import Providers

/// A generated history of an app on a phone, starting before the first launch of the app.
///
/// The steps have the same form as in contracts. `PhoneModel` derives the user that the phone must
/// have at the end.
package struct PhoneHistory: Hashable, Sendable {
    package var steps: [PhoneStep]
    /// User IDs, by the name of the user, that bridge commands must contain unchanged (C-21).
    package var idByUser: [String: String] = [:]

    package init(_ steps: [PhoneStep], idByUser: [String: String] = [:]) {
        self.steps = steps
        self.idByUser = idByUser
    }

    /// The title of the history in words, such as `The app: launch, logout, launch`.
    package var title: String {
        let idDescriptions = idByUser.sorted { $0.key < $1.key }.map {
            "\($0.key) is '\($0.value)'"
        }
        return "The app: " + (idDescriptions + steps.map(\.words)).joined(separator: ", ")
    }

    package var slug: String {
        var words: [String] = []
        for step in steps {
            if case .app(let action) = step, words.last != action.name.rawValue {
                words.append(action.name.rawValue)
            }
        }
        return words.prefix(6).joined(separator: "-")
    }

    /// Returns the ID of a failed history, which depends only on the steps and the failure
    /// signature.
    package func failureID(_ failureSignature: FailureSignature) -> String {
        var lines: [String] = [failureSignature.words]
        for step in steps { lines.append(step.signature) }
        if !idByUser.isEmpty { lines.append("ids") }
        let text = lines.joined(separator: "\n")
        return "\(slug)-\(CampaignInput.hexHash(of: text))"
    }

    /// Returns whether this history contains every step of the other history, in the same order.
    package func contains(_ other: PhoneHistory) -> Bool {
        var rest = other.steps.map(\.signature)[...]
        for part in steps.map(\.signature) where part == rest.first { rest.removeFirst() }
        return rest.isEmpty
    }

    // MARK: Smaller variants

    /// Smaller variants of a failed history, the smallest first: without the last steps, without
    /// single steps, or without parts of a step.
    ///
    /// A variant may be an impossible history; the caller must check this.
    package var shorterVariants: [PhoneHistory] {
        var variants: [PhoneHistory] = []
        let prefixLengths = [
            steps.count / 4, steps.count / 2, steps.count * 3 / 4, steps.count - 1,
        ]
        for end in prefixLengths where end > 0 && end < steps.count {
            variants.append(PhoneHistory(Array(steps.prefix(end)), idByUser: idByUser))
        }
        for index in steps.indices where steps.count > 1 {
            var history = self
            history.steps.remove(at: index)
            variants.append(history)
        }
        for user in idByUser.keys.sorted() {
            var history = self
            history.idByUser[user] = nil
            variants.append(history)
        }
        for index in steps.indices {
            for step in steps[index].simplerVariants {
                var history = self
                history.steps[index] = step
                variants.append(history)
            }
        }
        return variants
    }
}

extension PhoneStep {
    /// The phrase for this step in the title of a history.
    fileprivate var words: String {
        switch self {
        case .app(let action):
            let kill = action.killPoint.map { ", killed after it has \($0.words)" } ?? ""
            return action.name.words + (action.isNextStepImmediate ? " without waiting" : "") + kill
        case .phone(let change):
            return change.ownerAction?.words ?? "on a phone with " + change.contentsText
        case .bridge(let plan): return plan.words
        case .backend(let plan): return plan.words
        case .store: return "store event"
        }
    }

    /// The kind of the step without its details, from which the ID of a failed history is computed.
    fileprivate var signature: String {
        switch self {
        case .app(let action):
            action.name.rawValue + (action.isNextStepImmediate ? " at once" : "")
                + (action.killPoint?.rawValue ?? "")
        case .phone(let change): change.ownerAction?.rawValue ?? "phone"
        case .bridge(let plan):
            "bridge " + plan.faults.map(\.kind.rawValue).joined()
                + plan.switches.keys.sorted().joined()
        case .backend(let plan):
            "backend " + plan.responses.keys.sorted().joined()
                + (plan.repeatsLastResponse ? " for ever" : "")
                + (plan.isNotifiedOfPurchases ? "" : " deaf")
        case .store: "store"
        }
    }

    /// Variants of the step, each without one of its parts.
    fileprivate var simplerVariants: [PhoneStep] {
        switch self {
        case .app(var action):
            guard action.killPoint != nil || action.isNextStepImmediate else { return [] }
            (action.killPoint, action.isNextStepImmediate) = (nil, false)
            return [.app(action)]
        case .phone(let change):
            var variants: [PhoneStep] = []
            func addVariant(_ edit: (inout PhoneChange) -> Void) {
                var copy = change
                edit(&copy)
                if copy != change { variants.append(.phone(copy)) }
            }
            guard change.ownerAction == nil else { return [] }
            addVariant { $0.kind = nil }
            addVariant { $0.history = nil }
            for index in (change.history ?? []).indices {
                addVariant { $0.history?.remove(at: index) }
                addVariant { $0.history?[index].product = PurchaseHistoryEntry().product }
            }
            addVariant { $0.installID = nil }
            addVariant { $0.vault[.lock] = nil }
            addVariant { $0.vault[.id] = nil }
            return variants
        case .bridge(let plan): return plan.simplerVariants.map { .bridge($0) }
        case .backend(let plan): return plan.simplerVariants.map { .backend($0) }
        case .store: return []
        }
    }
}

extension BridgePlan {
    /// Variants of the plan, each with one fault or one switch less.
    fileprivate var simplerVariants: [BridgePlan] {
        var variants: [BridgePlan] = []
        for index in faults.indices {
            var copy = self
            if faults.count > 1 {
                copy.faults.remove(at: index)
                variants.append(copy)
            }
            if faults[index].times > 1 {
                copy = self
                copy.faults[index].times = 1
                variants.append(copy)
            }
        }
        for key in switches.keys.sorted() where switches.count > 1 {
            var copy = self
            copy.switches[key] = nil
            variants.append(copy)
        }
        return variants
    }
}

extension AppBackendPlan {
    /// Variants of the plan, each with fewer planned responses.
    fileprivate var simplerVariants: [AppBackendPlan] {
        var variants: [AppBackendPlan] = []
        for (route, responses) in responses.sorted(by: { $0.key < $1.key })
        where responses.count > 2 {
            var copy = self
            copy.responses[route] = Array(responses.suffix(2))
            variants.append(copy)
        }
        if !isNotifiedOfPurchases {
            var copy = self
            copy.isNotifiedOfPurchases = true
            variants.append(copy)
        }
        return variants
    }
}

extension AppAction.Name {
    fileprivate var words: String {
        switch self {
        case .launch: "launch"
        case .launchTwice: "two launches at once"
        case .reload: "reload"
        case .kill: "kill"
        case .upgrade: "tap to buy"
        case .upgradeTwice: "two taps to buy"
        case .purchase: "purchase"
        case .restore: "restore"
        case .login: "login"
        case .logout: "logout"
        case .status: "status check"
        case .callback: "purchase callback"
        case .wait: "wait"
        case .signUp: "sign-up"
        case .signIn: "sign-in"
        case .google: "sign-in with Google"
        case .forgotPassword: "forgotten password"
        case .deleteAccount: "deletion of the account"
        case .refresh: "refresh"
        }
    }
}

extension AppAction.KillPoint {
    fileprivate var words: String {
        switch self {
        case .registered: "registered"
        case .loggedIn: "logged in"
        case .idWritten: "written the user ID"
        }
    }
}

extension PhoneChange.OwnerAction {
    fileprivate var words: String {
        switch self {
        case .reinstall: "reinstallation"
        case .secondPhone: "second phone"
        case .cloned: "cloned phone"
        case .loseID: "loss of the user ID in the vault"
        case .complete: "the purchase completes"
        case .cancel: "the purchase is canceled"
        case .fail: "the purchase fails"
        }
    }
}

extension PhoneChange {
    fileprivate var contentsText: String {
        var contentDescriptions: [String] = vault.keys.map(\.rawValue).sorted().map {
            "the vault entry '\($0)'"
        }
        if let history {
            contentDescriptions.append(
                history.isEmpty ? "an empty purchase history" : "a purchase history"
            )
        }
        switch installID {
        case .late: contentDescriptions.append("a delayed install ID")
        case .missing: contentDescriptions.append("no install ID")
        case nil: break
        }
        if let kind { contentDescriptions.append("the user agent of '\(kind.rawValue)'") }
        return contentDescriptions.isEmpty
            ? "no data" : contentDescriptions.joined(separator: " and ")
    }
}

extension BridgePlan {
    fileprivate var words: String {
        let faults = faults.map { "\($0.kind.rawValue) \($0.scheme)" }
        let bridgeDescriptions =
            faults + (switches.isEmpty ? [] : ["unusual but documented responses"])
        return "bridge: " + bridgeDescriptions.joined(separator: ", ")
    }
}

extension AppBackendPlan {
    fileprivate var words: String {
        let routes = responses.keys.sorted().map { route in
            "\(route) " + (responses[route] ?? []).map(\.phrase).joined(separator: ", then ")
        }
        let rest = [
            repeatsLastResponse ? "permanently" : nil,
            isNotifiedOfPurchases ? nil : "not notified of purchases",
        ].compactMap(\.self)
        return "app backend: " + (routes + rest).joined(separator: ", ")
    }
}

extension AppBackendPlan.PlannedResponse {
    fileprivate var phrase: String {
        switch self {
        case .ok: "succeeds"
        case .status(let status): "fails with \(status)"
        case .reset: "fails with a connection reset"
        case .never: "does not respond"
        case .slow: "responds slowly"
        case .otherID: "returns another user ID"
        case .noID, .nullID, .undefinedID: "returns no user ID"
        case .claimed: "claims the user ID for the account"
        case .recovered: "returns the user ID of the account"
        }
    }
}
