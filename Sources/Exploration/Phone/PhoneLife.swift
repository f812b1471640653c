package import Conformance

/// What happens to an app on a phone, from before its first launch on.
///
/// A value of steps as contracts write them; who the phone's user is in the end is worked out by
/// `PhoneModel`.
package struct PhoneLife: Hashable, Sendable {
    package var steps: [PhoneStep]
    /// Ids of users that commands must carry to the letter (C-21), by the user.
    package var ids: [String: String] = [:]

    package init(_ steps: [PhoneStep], ids: [String: String] = [:]) {
        self.steps = steps
        self.ids = ids
    }

    /// What happens, for people: `The app is launched, logs out and is launched`.
    package var title: String {
        let names = ids.sorted { $0.key < $1.key }.map { "\($0.key) is '\($0.value)'" }
        return "The app: " + (names + steps.map(\.words)).joined(separator: ", ")
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

    /// A name for it that is the same wherever it was found, and another for each cause.
    package func storyID(_ cause: LifeCause) -> String {
        var lines: [String] = [cause.words]
        for step in steps { lines.append(step.essence) }
        if !ids.isEmpty { lines.append("ids") }
        let text = lines.joined(separator: "\n")
        return "\(slug)-\(Story.digits(of: text))"
    }

    /// Whether all that happens in the other one happens here as well, in that order.
    package func contains(_ other: PhoneLife) -> Bool {
        var rest = other.steps.map(\.essence)[...]
        for part in steps.map(\.essence) where part == rest.first { rest.removeFirst() }
        return rest.isEmpty
    }

    // MARK: Smaller ones

    /// Lives with less in them, the smallest first: ends cut off, then steps one by one, then parts of
    /// steps.
    ///
    /// They need not be possible.
    package var shorter: [PhoneLife] {
        var found: [PhoneLife] = []
        let ends = [steps.count / 4, steps.count / 2, steps.count * 3 / 4, steps.count - 1]
        for end in ends where end > 0 && end < steps.count {
            found.append(PhoneLife(Array(steps.prefix(end)), ids: ids))
        }
        for index in steps.indices where steps.count > 1 {
            var life = self
            life.steps.remove(at: index)
            found.append(life)
        }
        for user in ids.keys.sorted() {
            var life = self
            life.ids[user] = nil
            found.append(life)
        }
        for index in steps.indices {
            for step in steps[index].plainer {
                var life = self
                life.steps[index] = step
                found.append(life)
            }
        }
        return found
    }
}

extension PhoneStep {
    /// What a person reads of it.
    fileprivate var words: String {
        switch self {
        case .app(let action):
            let kill = action.killedAt.map { ", killed once it has \($0.words)" } ?? ""
            return action.name.words + (action.isAtOnce ? " and at once" : "") + kill
        case .phone(let change):
            return change.act?.words ?? "on a phone that holds " + change.contents
        case .bridge(let plan): return plan.words
        case .backend(let plan): return plan.words
        case .store: return "the store acts"
        }
    }

    /// What it is, without its particulars.
    fileprivate var essence: String {
        switch self {
        case .app(let action):
            action.name.rawValue + (action.isAtOnce ? " at once" : "")
                + (action.killedAt?.rawValue ?? "")
        case .phone(let change): change.act?.rawValue ?? "phone"
        case .bridge(let plan):
            "bridge " + plan.faults.map(\.kind.rawValue).joined()
                + plan.switches.keys.sorted().joined()
        case .backend(let plan):
            "backend " + plan.answers.keys.sorted().joined() + (plan.isPermanent ? " for ever" : "")
                + (plan.learnsPurchases ? "" : " deaf")
        case .store: "store"
        }
    }

    /// The same with a part of it left out.
    fileprivate var plainer: [PhoneStep] {
        switch self {
        case .app(var action):
            guard action.killedAt != nil || action.isAtOnce else { return [] }
            (action.killedAt, action.isAtOnce) = (nil, false)
            return [.app(action)]
        case .phone(let change):
            var found: [PhoneStep] = []
            func add(_ edit: (inout PhoneChange) -> Void) {
                var copy = change
                edit(&copy)
                if copy != change { found.append(.phone(copy)) }
            }
            guard change.act == nil else { return [] }
            add { $0.kind = nil }
            add { $0.history = nil }
            for index in (change.history ?? []).indices {
                add { $0.history?.remove(at: index) }
                add { $0.history?[index].product = HistoryEntry().product }
            }
            add { $0.installID = nil }
            add { $0.vault[.lock] = nil }
            add { $0.vault[.id] = nil }
            return found
        case .bridge(let plan):
            var found: [PhoneStep] = []
            for index in plan.faults.indices {
                var copy = plan
                if plan.faults.count > 1 {
                    copy.faults.remove(at: index)
                    found.append(.bridge(copy))
                }
                if plan.faults[index].times > 1 {
                    copy = plan
                    copy.faults[index].times = 1
                    found.append(.bridge(copy))
                }
            }
            for key in plan.switches.keys.sorted() where plan.switches.count > 1 {
                var copy = plan
                copy.switches[key] = nil
                found.append(.bridge(copy))
            }
            return found
        case .backend(let plan):
            var found: [PhoneStep] = []
            for (route, answers) in plan.answers.sorted(by: { $0.key < $1.key })
            where answers.count > 2 {
                var copy = plan
                copy.answers[route] = Array(answers.suffix(2))
                found.append(.backend(copy))
            }
            if !plan.learnsPurchases {
                var copy = plan
                copy.learnsPurchases = true
                found.append(.backend(copy))
            }
            return found
        case .store: return []
        }
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
        case .status: "look at the status"
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
        case .idWritten: "written the id"
        }
    }
}

extension PhoneChange.Act {
    fileprivate var words: String {
        switch self {
        case .reinstall: "installed anew"
        case .secondPhone: "a second phone"
        case .cloned: "a cloned phone"
        case .loseID: "the id is lost"
        case .complete: "the purchase completes"
        case .cancel: "the purchase is cancelled"
        case .fail: "the purchase fails"
        }
    }
}

extension PhoneChange {
    fileprivate var contents: String {
        var parts: [String] = vault.keys.map(\.rawValue).sorted().map { "the \($0)" }
        if let history { parts.append(history.isEmpty ? "an empty history" : "a history") }
        switch installID {
        case .late: parts.append("a late install id")
        case .missing: parts.append("no install id")
        case nil: break
        }
        if let kind { parts.append("the agent of \(kind.rawValue)") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: " and ")
    }
}

extension BridgePlan {
    fileprivate var words: String {
        let faults = faults.map { "\($0.kind.rawValue) \($0.scheme)" }
        let all = faults + (switches.isEmpty ? [] : ["with other manners"])
        return "bridge " + all.joined(separator: ", ")
    }
}

extension AppBackendPlan {
    fileprivate var words: String {
        let routes = answers.keys.sorted().map { route in
            "\(route) " + (answers[route] ?? []).map(\.word).joined(separator: " ")
        }
        let rest = [
            isPermanent ? "for ever" : nil,
            learnsPurchases ? nil : "that hears of no purchase",
        ].compactMap(\.self)
        return "backend " + (routes + rest).joined(separator: ", ")
    }
}

extension AppBackendPlan.Answer {
    fileprivate var word: String {
        switch self {
        case .ok: "well"
        case .status(let status): "\(status)"
        case .reset: "broken off"
        case .never: "never"
        case .slow: "slowly"
        case .otherID: "with another id"
        case .noID, .nullID, .undefinedID: "without an id"
        case .claimed: "claimed"
        case .recovered: "recovered"
        }
    }
}
