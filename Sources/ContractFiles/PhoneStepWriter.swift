internal import Conformance

/// What happens on phones, as contracts write it.
extension ContractWriter {
    static func phone(_ step: PhoneStep) -> [String] {
        switch step {
        case .app(let action): self.action(action)
        case .phone(let change): self.change(change)
        case .bridge(let plan): ["  - bridge: \(bridge(plan))"]
        case .backend(let plan): ["  - backend: \(backend(plan))"]
        case .store(let act): ["  - store: \(act.name)", "    user: \(act.user)"]
        }
    }

    private static func action(_ action: AppAction) -> [String] {
        let plain = AppAction(action.name)
        var lines = ["  - app: \(action.name.rawValue)"]
        func add(_ key: String, _ value: String) { lines.append("    \(key): \(value)") }
        if action.phone != plain.phone { add("on", action.phone) }
        if action.app != plain.app { add("runs", action.app.rawValue) }
        if let account = action.account { add("account", account) }
        if let user = action.anonymous { add("as", user) }
        if action.hasWrongPassword { add("password", "wrong") }
        if let product = action.product { add("product", scalar(product)) }
        if action.agrees { add("agrees", "true") }
        if action.isAtOnce { add("at-once", "true") }
        if let argument = action.argument { lines += json("with", argument, indent: 4) }
        if let time = action.time { add("for", time.contractText) }
        if let moment = action.killedAt { add("killed-at", moment.rawValue) }
        return lines
    }

    private static func change(_ change: PhoneChange) -> [String] {
        let what = change.act?.rawValue ?? flow(properties(change))
        // A phone that is new has no usual name.
        let isNew = change.act == .secondPhone || change.act == .cloned
        let isNamed = isNew || change.phone != PhoneChange().phone
        return ["  - phone: \(what)"] + (isNamed ? ["    on: \(change.phone)"] : [])
    }

    private static func properties(_ change: PhoneChange) -> [(String, String)] {
        var fields: [(String, String)] = []
        if let kind = change.kind { fields.append(("kind", kind.rawValue)) }
        let vault = PhoneChange.VaultRole.allCases.compactMap { role in
            change.vault[role].map { (role.rawValue, quoted($0)) }
        }
        if !vault.isEmpty { fields.append(("vault", flow(vault))) }
        if let history = change.history {
            fields.append(("history", "[\(history.map(purchase).joined(separator: ", "))]"))
        }
        switch change.installID {
        case .missing: fields.append(("install-id", "missing"))
        case .late(let time): fields.append(("install-id", time.contractText))
        case nil: break
        }
        return fields
    }

    private static func purchase(_ entry: HistoryEntry) -> String {
        let plain = HistoryEntry()
        var fields: [(String, String)] = []
        if let user = entry.user { fields.append(("user", user)) }
        if entry.isAnonymous { fields.append(("anonymous", "true")) }
        if !entry.isActive { fields.append(("active", "false")) }
        if entry.environment != plain.environment {
            fields.append(("environment", entry.environment))
        }
        if entry.product != plain.product { fields.append(("product", scalar(entry.product))) }
        if entry.purchased != plain.purchased {
            fields.append(("purchased", entry.purchased.contractText))
        }
        return flow(fields)
    }

    private static func bridge(_ plan: BridgePlan) -> String {
        var fields = ContractParser.bridgeSwitches.compactMap { known -> (String, String)? in
            plan.switches[known.name].map { (known.key, $0.string ?? flow($0)) }
        }
        for fault in plan.faults {
            var parts = [("command", scalar(fault.scheme))]
            if let role = fault.role { parts.append(("key", role.rawValue)) }
            if fault.times != 1 { parts.append(("times", "\(fault.times)")) }
            fields.append((fault.kind.rawValue, flow(parts)))
        }
        return flow(fields)
    }

    private static func backend(_ plan: AppBackendPlan) -> String {
        var fields = AppBackendPlan.routes.compactMap { route -> (String, String)? in
            plan.answers[route].map { answers in
                (route, "[\(answers.map(answer).joined(separator: ", "))]")
            }
        }
        if plan.isPermanent { fields.append(("forever", "true")) }
        if !plan.learnsPurchases { fields.append(("learns-purchases", "false")) }
        return flow(fields)
    }

    private static func answer(_ answer: AppBackendPlan.Answer) -> String {
        switch answer {
        case .ok: "ok"
        case .status(let status): "\(status)"
        case .reset: "reset"
        case .never: "never"
        case .slow(let time): "{slow: \(time.contractText)}"
        case .otherID: "other-id"
        case .claimed: "claimed"
        case .recovered(let user): "{recovered: \(user)}"
        }
    }
}
