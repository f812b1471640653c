internal import Conformance

extension ContractParser {
    /// The keys of what a person does; the schema lists the same.
    package static let appKeys = [
        "app", "on", "account", "agrees", "at-once", "with", "for", "killed-at", "as", "runs",
        "password", "product",
    ]

    /// The keys of what a phone is like; the schema lists the same.
    package static let phoneKeys = ["kind", "vault", "history", "install-id"]

    /// The keys of a purchase in the store account's history; the schema lists the same.
    package static let historyKeys = [
        "user", "anonymous", "active", "environment", "product", "purchased",
    ]

    /// Switches of the native side by the fake's name for them, and what each takes; the schema
    /// lists the same.
    package static let bridgeSwitches: [(key: String, name: String, values: [String])] = [
        ("vault-missing", "vaultMissing", ["null", "silent", "empty", "na"]),
        ("vault-decode", "vaultDecode", ["once", "raw", "plusAsSpace"]),
        ("history", "history", ["array", "null", "silent", "string"]),
        ("product-field", "historyProductField", ["productId", "productIdentifier", "both"]),
        ("result-channel", "hasResultChannel", ["true", "false"]),
        ("runtime-flags", "hasRuntimeFlags", ["true", "false"]),
    ]

    package static let bridgeKeys =
        bridgeSwitches.map(\.key) + BridgePlan.Fault.Kind.allCases.map(\.rawValue)

    /// The keys of the app's own backend; the schema lists the same.
    package static let backendKeys = AppBackendPlan.routes + ["forever", "learns-purchases"]

    /// The keys of what must be true of the app; the schema lists the same.
    package static let appExpectationKeys = [
        "promises", "commands", "id", "screen", "start", "registered",
    ]
}

/// Device scenarios: steps on a phone and what must be true of the app.
extension VariantParser {
    mutating func phoneStep(_ key: String, _ value: LocatedNode, _ node: LocatedNode) -> PhoneStep?
    {
        switch key {
        case "app": return appAction(node).map(PhoneStep.app)
        case "store":
            let fields = reader.mapping(node, allowed: ["store", "user"])
            guard let name = reader.word(value, "act of the store", among: StoreAct.names),
                let user = fields["user"].flatMap({ userName($0) })
            else {
                if fields["user"] == nil {
                    reader.fail(.missingKey("user", of: "an act of the store"), at: node.location)
                }
                return nil
            }
            return .store(StoreAct(name: name, user: user))
        case "phone": return phoneChange(value, node).map(PhoneStep.phone)
        case "bridge":
            _ = reader.mapping(node, allowed: ["bridge"])
            return .bridge(bridgePlan(value))
        default:
            _ = reader.mapping(node, allowed: ["backend"])
            return .backend(backendPlan(value))
        }
    }

    private mutating func appAction(_ node: LocatedNode) -> AppAction? {
        let fields = reader.mapping(node, allowed: ContractParser.appKeys)
        guard let nameNode = fields["app"],
            let name: AppAction.Name = reader.choice(nameNode, "act")
        else { return nil }
        var action = AppAction(name)
        let isLaunch = name == .launch || name == .launchTwice
        let phone = fields["on"].flatMap { self.name($0, .phone, isLaunch ? .mentions : .refers) }
        action.phone = phone ?? action.phone
        action.account = fields["account"].flatMap { account($0, name) }
        action.agrees = fields["agrees"].map { reader.flag($0) } ?? false
        action.isAtOnce = fields["at-once"].map { reader.flag($0) } ?? false
        action.argument = fields["with"]?.json
        action.time = fields["for"].flatMap { reader.duration($0) }
        action.killedAt = fields["killed-at"].flatMap { reader.choice($0, "moment") }
        action.anonymous = fields["as"].flatMap { self.name($0, .user, .introduces) }
        action.app = fields["runs"].flatMap { reader.choice($0, "app") } ?? .accounts
        action.product = fields["product"].flatMap { reader.text($0) }
        if let password = fields["password"] {
            action.hasWrongPassword =
                reader.word(password, "password", among: ["wrong"]) != nil
        }
        if name == .login || name.needsAccounts && name != .deleteAccount, action.account == nil {
            reader.fail(.missingKey("account", of: "a login"), at: node.location)
        }
        if name == .wait, action.time == nil {
            reader.fail(.missingKey("for", of: "'app: wait'"), at: node.location)
        }
        return action
    }

    /// Who signs up is a user and has an account from then on; who signs in, has to have signed up.
    private mutating func account(_ node: LocatedNode, _ act: AppAction.Name) -> String? {
        let isNew = act == .signUp || act == .google
        // The model of a backend that a device scenario has knows every account.
        let role: NameChecks.Role =
            isNew ? .introduces : act.needsAccounts ? .refers : .mentions
        let account = name(node, .account, role)
        if let account, act.needsAccounts {
            names.note(.user, isNew ? .introduces : .mentions, account, at: node.location)
        }
        return account
    }

    private mutating func phoneChange(_ node: LocatedNode, _ step: LocatedNode) -> PhoneChange? {
        let outer = reader.mapping(step, allowed: ["phone", "on"])
        var change = PhoneChange()
        change.phone = outer["on"].flatMap { name($0, .phone, .introduces) } ?? change.phone
        guard case .mapping = node.content else {
            change.act = reader.choice(node, "act of the phone's owner")
            if change.act == .secondPhone || change.act == .cloned, outer["on"] == nil {
                reader.fail(.missingKey("on", of: "a phone that is new"), at: step.location)
            }
            return change.act == nil ? nil : change
        }
        let fields = reader.mapping(node, allowed: ContractParser.phoneKeys)
        change.kind = fields["kind"].flatMap { reader.choice($0, "kind of phone") }
        for entry in fields["vault"].flatMap({ reader.entries($0) }) ?? [] {
            let roles = PhoneChange.VaultRole.allCases.map(\.rawValue)
            guard let role = PhoneChange.VaultRole(rawValue: entry.key) else {
                reader.fail(.unknownKey(entry.key, allowed: roles), at: entry.keyLocation)
                continue
            }
            change.vault[role] = reader.anyText(entry.value)
        }
        if let history = fields["history"] {
            change.history = reader.sequence(history).map { historyEntry($0) }
        }
        if let install = fields["install-id"] {
            if case .scalar("missing", _) = install.content {
                change.installID = .missing
            } else {
                change.installID = reader.duration(install).map(PhoneChange.InstallID.late)
            }
        }
        return change
    }

    private mutating func historyEntry(_ node: LocatedNode) -> HistoryEntry {
        let fields = reader.mapping(node, allowed: ContractParser.historyKeys)
        var entry = HistoryEntry()
        entry.user = fields["user"].flatMap { name($0, .user, .introduces) }
        entry.isAnonymous = fields["anonymous"].map { reader.flag($0) } ?? false
        entry.isActive = fields["active"].map { reader.flag($0) } ?? true
        if let environment = fields["environment"] {
            let names = ["production", "sandbox"]
            entry.environment = reader.word(environment, "environment", among: names) ?? ""
        }
        entry.product = fields["product"].flatMap { reader.text($0) } ?? entry.product
        entry.purchased = fields["purchased"].flatMap { reader.duration($0) } ?? .zero
        return entry
    }

    private mutating func bridgePlan(_ node: LocatedNode) -> BridgePlan {
        var plan = BridgePlan()
        for entry in reader.entries(node) ?? [] {
            if let known = ContractParser.bridgeSwitches.first(where: { $0.key == entry.key }) {
                guard case .scalar(let text, _) = entry.value.content,
                    known.values.contains(text)
                else {
                    reader.fail(
                        .unknownValue(
                            entry.value.json.text,
                            what: "value of '\(entry.key)'",
                            allowed: known.values
                        ),
                        at: entry.value.location
                    )
                    continue
                }
                let isFlag = known.values == ["true", "false"]
                plan.switches[known.name] = isFlag ? .bool(text == "true") : .string(text)
            } else if let kind = BridgePlan.Fault.Kind(rawValue: entry.key) {
                if let fault = fault(kind, entry.value) { plan.faults.append(fault) }
            } else {
                reader.fail(
                    .unknownKey(entry.key, allowed: ContractParser.bridgeKeys),
                    at: entry.keyLocation
                )
            }
        }
        return plan
    }

    private mutating func fault(
        _ kind: BridgePlan.Fault.Kind,
        _ node: LocatedNode
    ) -> BridgePlan.Fault? {
        let fields = reader.mapping(node, allowed: ["command", "key", "times"])
        guard let command = fields["command"] else {
            reader.fail(.missingKey("command", of: "'\(kind.rawValue)'"), at: node.location)
            return nil
        }
        return BridgePlan.Fault(
            kind: kind,
            scheme: reader.text(command) ?? "",
            role: fields["key"].flatMap { reader.choice($0, "key of the vault") },
            times: fields["times"].map { reader.count($0, in: 1...1000) } ?? 1
        )
    }

    private mutating func backendPlan(_ node: LocatedNode) -> AppBackendPlan {
        let fields = reader.mapping(node, allowed: ContractParser.backendKeys)
        var plan = AppBackendPlan()
        plan.isPermanent = fields["forever"].map { reader.flag($0) } ?? false
        plan.learnsPurchases = fields["learns-purchases"].map { reader.flag($0) } ?? true
        for route in AppBackendPlan.routes {
            guard let node = fields[route] else { continue }
            let nodes: [LocatedNode] =
                if case .sequence(let nodes) = node.content { nodes } else { [node] }
            plan.answers[route] = nodes.compactMap { backendAnswer($0) }
        }
        return plan
    }

    private mutating func backendAnswer(_ node: LocatedNode) -> AppBackendPlan.Answer? {
        if node.json.int64 != nil { return .status(reader.count(node, in: 100...599)) }
        if case .mapping = node.content {
            let fields = reader.mapping(node, allowed: ["slow", "recovered"])
            if let slow = fields["slow"] {
                return reader.duration(slow).map(AppBackendPlan.Answer.slow)
            }
            return fields["recovered"].flatMap { userName($0) }
                .map { .recovered(user: $0) }
        }
        let words: [String: AppBackendPlan.Answer] = [
            "ok": .ok, "reset": .reset, "never": .never, "other-id": .otherID, "claimed": .claimed,
        ]
        return reader.word(node, "answer (or a status)", among: words.keys.sorted())
            .flatMap { words[$0] }
    }

    // MARK: Expectation

    mutating func app(_ node: LocatedNode) -> AppExpectation {
        let fields = reader.mapping(node, allowed: ContractParser.appExpectationKeys)
        var expected = AppExpectation(location: node.location)
        for element in fields["promises"].map({ reader.sequence($0) }) ?? [] {
            let name: ClientPromise? = reader.choice(element, "promise")
            if let name { expected.promises.append(.init(name: name, location: element.location)) }
        }
        for element in fields["commands"].map({ reader.sequence($0) }) ?? [] {
            if let command = command(element) { expected.commands.append(command) }
        }
        for entry in fields["id"].flatMap({ reader.entries($0) }) ?? [] {
            noteKey(entry, .phone, .refers)
            if let wanted = identity(entry.value) {
                expected.identities.append(
                    .init(phone: entry.key, wanted: wanted, location: entry.value.location)
                )
            }
        }
        for entry in fields["screen"].flatMap({ reader.entries($0) }) ?? [] {
            let names = AppExpectation.Screen.Element.allCases.map(\.rawValue)
            guard let element = AppExpectation.Screen.Element(rawValue: entry.key) else {
                reader.fail(.unknownKey(entry.key, allowed: names), at: entry.keyLocation)
                continue
            }
            var screen = AppExpectation.Screen(
                element: element,
                wanted: entry.value.json,
                location: entry.value.location
            )
            if case .mapping = entry.value.content {
                let parts = reader.mapping(entry.value, allowed: ["not"])
                screen.isNot = true
                screen.wanted = parts["not"]?.json ?? .null
            }
            expected.screens.append(screen)
        }
        if let start = fields["start"] {
            expected.isBounded = reader.word(start, "wish", among: ["bounded"]) != nil
        }
        if let count = fields["registered"] {
            if case .mapping = count.content {
                let bounds = reader.mapping(count, allowed: ["at-least", "at-most"])
                expected.registeredMin = bounds["at-least"].map { reader.count($0, in: 0...100) }
                expected.registeredMax = bounds["at-most"].map { reader.count($0, in: 0...100) }
            } else {
                expected.registeredMin = reader.count(count, in: 0...100)
                expected.registeredMax = expected.registeredMin
            }
        }
        if fields.isEmpty {
            reader.fail(
                .conflict(
                    "'app' expects nothing",
                    remedy: "Add 'promises: [one-identity]', or say which commands must be sent."
                ),
                at: node.location
            )
        }
        return expected
    }

    private mutating func command(_ node: LocatedNode) -> AppExpectation.Command? {
        let fields = reader.mapping(
            node,
            allowed: ["command", "key", "value", "count", "before", "on"]
        )
        guard let nameNode = fields["command"], let name = reader.text(nameNode) else {
            reader.fail(.missingKey("command", of: "a command"), at: node.location)
            return nil
        }
        let scheme = name.split(separator: ":").first.map(String.init) ?? name
        if !BridgeCommand.schemes.contains(scheme) {
            reader.fail(
                .unknownValue(name, what: "command", allowed: BridgeCommand.schemes.sorted()),
                at: nameNode.location
            )
        }
        var command = AppExpectation.Command(
            name: name,
            countMin: 1,
            countMax: nil,
            location: node.location
        )
        command.role = fields["key"].flatMap { reader.choice($0, "key of the vault") }
        command.value = fields["value"].flatMap { reader.text($0) }
        command.phone = fields["on"].flatMap { self.name($0, .phone, .refers) }
        if let before = fields["before"] {
            command.isBeforeIDWritten =
                reader.word(before, "moment", among: ["id-written"]) != nil
        }
        if let count = fields["count"] {
            if case .mapping = count.content {
                let bounds = reader.mapping(count, allowed: ["at-least", "at-most"])
                command.countMin = bounds["at-least"].map { reader.count($0, in: 0...100) } ?? 0
                command.countMax = bounds["at-most"].map { reader.count($0, in: 0...100) }
            } else {
                command.countMin = reader.count(count, in: 0...100)
                command.countMax = command.countMin
            }
        }
        return command
    }

    private mutating func identity(_ node: LocatedNode) -> AppExpectation.Identity.Wanted? {
        guard case .mapping = node.content else {
            return expectedUser(node).map { .user($0) }
        }
        let fields = reader.mapping(node, allowed: ["not", "same-as", "other-than", "changed"])
        if let changed = fields["changed"], reader.flag(changed) { return .changed }
        if let user = fields["not"] { return expectedUser(user).map { .notUser($0) } }
        if let phone = fields["same-as"] { return name(phone, .phone, .refers).map { .sameAs($0) } }
        return fields["other-than"].flatMap { name($0, .phone, .refers) }.map { .otherThan($0) }
    }
}
