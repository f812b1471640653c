package import Conformance

/// Reads a contract file: one contract for every combination of its axes.
package enum ContractParser {
    /// The keys at the top of a contract file; the schema lists the same.
    package static let keys = [
        "contract", "title", "clause", "level", "source", "needs", "variants", "given", "steps",
        "expect",
    ]

    /// The keys of a delivery; the schema lists the same.
    package static let deliveryKeys = [
        "deliver", "event", "body", "raw", "cut-body-at", "repeats", "set", "remove", "padding",
        "nesting", "times", "together", "at", "along", "lose-answers", "cut-requests", "hang-ups",
        "authorization", "signature", "answers",
    ]

    /// The keys of an event; the schema lists the same.
    package static let eventKeys = [
        "type", "user", "known-by", "from", "to", "product", "new-product", "store", "environment",
        "period", "reason", "time", "purchased", "expires", "grace",
    ]

    /// All variants, or every error that was found.
    ///
    /// - Parameters:
    ///   - text: The file's text.
    ///   - path: The file's path, for error messages.
    ///   - id: What the contract must be called: its path below the contracts folder.
    /// - Returns: The variants in the order of their axes, or the errors in the order of their lines.
    package static func parse(
        _ text: String,
        path: String,
        id: String
    ) -> Result<[Contract], ContractErrors> {
        let root: LocatedNode
        do throws(ContractError) {
            root = try LocatedNode(parsing: text, path: path)
        } catch {
            return .failure(ContractErrors([error]))
        }
        var reader = NodeReader()
        let axes = self.axes(root, &reader)
        var contracts: [Contract] = []
        for combination in combinations(axes) {
            let filled = root.filling(combination.map { ($0.name, $0.value) })
            let variant = combination.map { "\($0.name):\($0.value)" }.joined(separator: ",")
            var parser = VariantParser(reader: NodeReader())
            let contract = parser.contract(filled, id: id, variant: variant)
            for error in parser.reader.errors where !reader.errors.contains(error) {
                reader.errors.append(error)
            }
            if let contract { contracts.append(contract) }
        }
        return reader.errors.isEmpty ? .success(contracts) : .failure(ContractErrors(reader.errors))
    }

    private static func axes(
        _ root: LocatedNode,
        _ reader: inout NodeReader
    ) -> [(name: String, values: [String])] {
        guard case .mapping(let entries) = root.content,
            let variants = entries.first(where: { $0.key == "variants" })?.value
        else { return [] }
        return (reader.entries(variants) ?? []).map { axis in
            let values = reader.sequence(axis.value).compactMap { reader.text($0) }
            if values.isEmpty, case .sequence = axis.value.content {
                reader.fail(
                    .wrongKind(expected: "a list with values", found: axis.value.kind),
                    at: axis.value.location
                )
            }
            return (axis.key, values)
        }
    }

    private static func combinations(
        _ axes: [(name: String, values: [String])]
    ) -> [[(name: String, value: String)]] {
        axes.reduce([[]]) { partial, axis in
            partial.flatMap { prefix in axis.values.map { prefix + [(axis.name, $0)] } }
        }
    }
}

/// Every error of one file.
package struct ContractErrors: Error, Hashable, Sendable, CustomStringConvertible {
    package let errors: [ContractError]

    package init(_ errors: [ContractError]) {
        self.errors = errors.sorted {
            ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column)
        }
    }

    package var description: String { errors.map(\.description).joined(separator: "\n\n") }
}

/// Reads one variant from a tree whose axes have been filled in.
struct VariantParser {
    var reader: NodeReader
    private var deliveries: [String] = []

    init(reader: NodeReader) {
        self.reader = reader
    }

    mutating func contract(_ root: LocatedNode, id expected: String, variant: String) -> Contract? {
        let fields = reader.mapping(root, allowed: ContractParser.keys)
        func required(_ key: String) -> LocatedNode? {
            if fields[key] == nil {
                reader.fail(.missingKey(key, of: "a contract"), at: root.location)
            }
            return fields[key]
        }
        let idNode = required("contract")
        let id = idNode.flatMap { reader.text($0) } ?? expected
        if let idNode, id != expected {
            reader.fail(.wrongID(id, expected: expected), at: idNode.location)
        }
        let title = required("title").flatMap { reader.text($0) } ?? ""
        let clause = required("clause").flatMap { self.clause($0) } ?? ""
        let level: Contract.Level =
            fields["level"].flatMap { reader.choice($0, "level") } ?? .must
        let source = required("source").flatMap { reader.text($0) } ?? ""
        let needs = (fields["needs"].map { reader.sequence($0) } ?? []).compactMap {
            node -> Feature? in reader.choice(node, "feature")
        }
        let given = (fields["given"].map { reader.sequence($0) } ?? []).compactMap { step($0) }
        let steps = (required("steps").map { reader.sequence($0) } ?? []).compactMap { step($0) }
        let expectation = required("expect").map { self.expectation($0) }
        guard let expectation else { return nil }
        return Contract(
            id: id,
            variant: variant,
            title: title,
            clause: clause,
            level: level,
            source: source,
            needs: needs,
            given: given,
            steps: steps,
            expectation: expectation,
            location: root.location
        )
    }

    /// `S-03`, `P-02`: a family letter and two digits.
    private mutating func clause(_ node: LocatedNode) -> String? {
        guard let text = reader.text(node) else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, ["S", "C", "P", "F", "O", "A"].contains(parts[0]),
            parts[1].count == 2, Int(parts[1]) != nil
        else {
            reader.fail(
                .wrongKind(expected: "a clause such as S-03", found: node.kind),
                at: node.location
            )
            return nil
        }
        return text
    }

    // MARK: Steps

    static let stepKeys = ["register", "deliver", "restart", "onesignal"]

    private mutating func step(_ node: LocatedNode) -> Step? {
        guard let entries = reader.entries(node) else { return nil }
        let kind = entries.first { Self.stepKeys.contains($0.key) }
        guard let kind else {
            if let entry = entries.first {
                reader.fail(
                    .unknownKey(entry.key, allowed: Self.stepKeys),
                    at: entry.keyLocation
                )
            } else {
                reader.fail(.missingKey("deliver", of: "a step"), at: node.location)
            }
            return nil
        }
        switch kind.key {
        case "register":
            _ = reader.mapping(node, allowed: ["register"])
            return userName(kind.value).map(Step.register)
        case "restart":
            _ = reader.mapping(node, allowed: ["restart"])
            let signal: Restart.Signal? = reader.choice(kind.value, "signal")
            return signal.map { .restart(Restart(signal: $0)) }
        case "onesignal":
            _ = reader.mapping(node, allowed: ["onesignal"])
            return .provider(providerPlan(kind.key, kind.value))
        default: return delivery(node).map(Step.deliver)
        }
    }

    private mutating func userName(_ node: LocatedNode) -> String? {
        guard let text = reader.text(node) else { return nil }
        guard text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            reader.fail(
                .wrongKind(expected: "a name of letters and digits", found: node.kind),
                at: node.location
            )
            return nil
        }
        return text
    }

    private mutating func providerPlan(_ provider: String, _ node: LocatedNode) -> ProviderPlan {
        let fields = reader.mapping(node, allowed: ["answers", "lose-answer-of", "forever"])
        var answers = (fields["answers"].map { reader.sequence($0) } ?? []).compactMap {
            providerAnswer($0)
        }
        if let position = fields["lose-answer-of"] {
            let index = reader.count(position, in: 1...20)
            while answers.count < index { answers.append(.asUsual) }
            answers[index - 1] = .loseAnswer
        }
        if answers.isEmpty {
            reader.fail(.missingKey("answers", of: "a provider's plan"), at: node.location)
        }
        return ProviderPlan(
            provider: provider,
            answers: answers,
            isPermanent: fields["forever"].map { reader.flag($0) } ?? false
        )
    }

    static let providerAnswers: [String: ProviderPlan.Answer] = [
        "ok": .asUsual, "no-subscribers": .noSubscribers, "invalid-aliases": .invalidAliases,
        "reset": .reset, "lose-answer": .loseAnswer, "never": .never, "malformed": .malformed,
    ]

    private mutating func providerAnswer(_ node: LocatedNode) -> ProviderPlan.Answer? {
        if node.json.int64 != nil { return .status(reader.count(node, in: 200...599)) }
        let names = Self.providerAnswers.keys.sorted()
        return reader.word(node, "answer (or a status)", among: names)
            .flatMap { Self.providerAnswers[$0] }
    }

    private mutating func delivery(_ node: LocatedNode) -> Delivery? {
        let fields = reader.mapping(node, allowed: ContractParser.deliveryKeys)
        guard let nameNode = fields["deliver"], let name = reader.text(nameNode) else { return nil }
        if deliveries.contains(name) {
            reader.fail(.duplicateDelivery(name), at: nameNode.location)
        }
        defer { deliveries.append(name) }
        guard let subject = subject(fields, of: node) else { return nil }
        var delivery = Delivery(name: name, subject: subject)
        delivery.edits = edits(fields)
        if let padding = fields["padding"] {
            delivery.paddingKilobytes = reader.count(padding, in: 1...8192)
        }
        if let nesting = fields["nesting"] {
            delivery.nesting = reader.count(nesting, in: 1...10_000)
        }
        if let times = fields["times"] { delivery.times = reader.count(times, in: 1...256) }
        delivery.isTogether = fields["together"].map { reader.flag($0) } ?? false
        if let at = fields["at"] { delivery.delay = reader.duration(at) ?? .zero }
        if let along = fields["along"] {
            delivery.isAlongLadder = reader.word(along, "schedule", among: ["ladder"]) != nil
        }
        func lost(_ key: String) -> Int { fields[key].map { reader.count($0, in: 0...5) } ?? 0 }
        delivery.answersLost = lost("lose-answers")
        delivery.requestsCut = lost("cut-requests")
        delivery.hangUps = lost("hang-ups")
        if delivery.disturbedCount > 0, !delivery.isAlongLadder {
            reader.fail(
                .conflict(
                    "a delivery that is disturbed is never completed unless it is retried",
                    remedy: "Add 'along: ladder' to it."
                ),
                at: nameNode.location
            )
        }
        if delivery.isTogether, delivery.times < 2 {
            reader.fail(
                .conflict(
                    "one copy cannot be released together with others",
                    remedy: "Add 'times: 8', or leave out 'together'."
                ),
                at: nameNode.location
            )
        }
        if let use = fields["authorization"] {
            delivery.authorization = reader.choice(use, "use of the Authorization") ?? .configured
        }
        if let use = fields["signature"] {
            delivery.signature = reader.choice(use, "use of the signature") ?? .configured
        }
        delivery.answers = fields["answers"].flatMap { answers($0) }
        return delivery
    }

    private mutating func subject(
        _ fields: [String: LocatedNode],
        of node: LocatedNode
    ) -> Delivery.Subject? {
        let given = ["event", "body", "raw", "repeats"].filter { fields[$0] != nil }
        guard given.count == 1 else {
            // A misspelt key has been reported already.
            if given.isEmpty, reader.errors.contains(where: { $0.isUnknownKey(in: node) }) {
                return nil
            }
            reader.fail(
                .conflict(
                    given.isEmpty
                        ? "a delivery needs something to deliver"
                        : "a delivery has one of event, body, raw and repeats, not several",
                    remedy: "Add 'event: {type: INITIAL_PURCHASE, user: ada}', or one of body, "
                        + "raw, repeats."
                ),
                at: node.location
            )
            return nil
        }
        if let event = fields["event"] {
            guard let spec = eventSpec(event) else { return nil }
            if let cut = fields["cut-body-at"] {
                return .raw(.truncated(spec, percent: reader.count(cut, in: 1...99)))
            }
            return .event(spec)
        }
        if let body = fields["body"] { return .body(body.json) }
        if let raw = fields["raw"] {
            guard case .scalar(let text, _) = raw.content else {
                reader.fail(.wrongKind(expected: "a text", found: raw.kind), at: raw.location)
                return nil
            }
            return .raw(.text(text))
        }
        guard let repeats = fields["repeats"], let name = reader.text(repeats) else { return nil }
        if !deliveries.contains(name) {
            reader.fail(.unknownDelivery(name, known: deliveries), at: repeats.location)
        }
        return .repeats(name)
    }

    private mutating func edits(_ fields: [String: LocatedNode]) -> [Delivery.Edit] {
        var edits: [Delivery.Edit] = []
        if let set = fields["set"] {
            for entry in reader.entries(set) ?? [] {
                guard let pointer = JSONPointer(entry.key) else {
                    reader.fail(
                        .wrongKind(
                            expected: "a JSON pointer such as /event/price",
                            found: "'\(entry.key)'"
                        ),
                        at: entry.keyLocation
                    )
                    continue
                }
                edits.append(Delivery.Edit(pointer: pointer, value: entry.value.json))
            }
        }
        if let remove = fields["remove"] {
            for node in reader.sequence(remove) {
                guard let pointer = reader.pointer(node) else { continue }
                edits.append(Delivery.Edit(pointer: pointer, value: nil))
            }
        }
        return edits
    }

    private mutating func eventSpec(_ node: LocatedNode) -> EventSpec? {
        let fields = reader.mapping(node, allowed: ContractParser.eventKeys)
        guard let typeNode = fields["type"] else {
            reader.fail(.missingKey("type", of: "an event"), at: node.location)
            return nil
        }
        guard let type = reader.text(typeNode) else { return nil }
        if !EventSpec.types.contains(type), !type.lowercased().hasPrefix("future_") {
            reader.fail(
                .unknownValue(type, what: "event type", allowed: EventSpec.types),
                at: typeNode.location
            )
        }
        var spec = EventSpec(type: type, user: fields["user"].flatMap { userName($0) })
        func names(_ key: String) -> [String] {
            guard let node = fields[key] else { return [] }
            if case .sequence(let nodes) = node.content { return nodes.compactMap { userName($0) } }
            return userName(node).map { [$0] } ?? []
        }
        spec.from = names("from")
        spec.to = names("to")
        if type != "TRANSFER", spec.user == nil {
            reader.fail(.missingKey("user", of: "an event of type \(type)"), at: node.location)
        }
        if let knownBy = fields["known-by"] {
            spec.knownBy = reader.choice(knownBy, "way to name a user") ?? .appUserID
        }
        spec.product = fields["product"].flatMap { reader.text($0) } ?? spec.product
        spec.newProduct = fields["new-product"].flatMap { reader.text($0) }
        if let store = fields["store"] {
            spec.store = reader.word(store, "store", among: EventSpec.stores) ?? spec.store
        }
        if let environment = fields["environment"] {
            let names = ["PRODUCTION", "SANDBOX"]
            spec.environment = reader.word(environment, "environment", among: names) ?? ""
        }
        if let period = fields["period"] {
            let names = ["NORMAL", "TRIAL", "INTRO", "PREPAID"]
            spec.period = reader.word(period, "period type", among: names) ?? ""
        }
        spec.reason = fields["reason"].flatMap { reader.text($0) }
        spec.time = fields["time"].flatMap { reader.duration($0) } ?? .zero
        spec.purchased = fields["purchased"].flatMap { reader.duration($0) }
        if let expires = fields["expires"] {
            if expires.json.isNull {
                spec.isLifetime = true
            } else {
                spec.expires = reader.duration(expires)
            }
        }
        spec.grace = fields["grace"].flatMap { reader.duration($0) }
        return spec
    }

    // MARK: Expectation

    static let expectationKeys = [
        "answers", "within", "like", "compare", "effects", "state", "overlap",
    ]

    private mutating func expectation(_ node: LocatedNode) -> Expectation {
        let fields = reader.mapping(node, allowed: Self.expectationKeys)
        var expectation = Expectation(answers: .statuses([200]))
        if let answersNode = fields["answers"] {
            expectation.answers = answers(answersNode) ?? expectation.answers
            expectation.answersLocation = answersNode.location
        }
        expectation.within = fields["within"].flatMap { reader.duration($0) }
        if let like = fields["like"] {
            expectation.relation = reader.choice(like, "relation")
            expectation.relationLocation = like.location
        }
        if let compare = fields["compare"] {
            expectation.compared = Set(
                reader.sequence(compare).compactMap { node -> Expectation.Aspect? in
                    reader.choice(node, "aspect")
                }
            )
        }
        for effect in fields["effects"].map({ reader.sequence($0) }) ?? [] {
            if let effect = self.effect(effect) { expectation.effects.append(effect) }
        }
        if let state = fields["state"] { expectation.states = states(state) }
        if let overlap = fields["overlap"] {
            expectation.overlapMin = reader.count(overlap, in: 2...256)
        }
        if ["answers", "like", "effects", "state"].allSatisfy({ fields[$0] == nil }) {
            reader.fail(
                .conflict("this contract expects nothing", remedy: "Add 'answers: 200'."),
                at: node.location
            )
        }
        return expectation
    }

    private mutating func answers(_ node: LocatedNode) -> AnswerExpectation? {
        if case .sequence(let nodes) = node.content {
            return .statuses(nodes.map { reader.count($0, in: 100...599) })
        }
        if node.json.int64 != nil { return .statuses([reader.count(node, in: 100...599)]) }
        let words: [String: AnswerExpectation] = [
            "refused": .refused, "rejected": .rejected, "answered": .answered,
            "anything": .anything,
        ]
        return reader.word(node, "answer (or a status)", among: words.keys.sorted())
            .flatMap { words[$0] }
    }

    private mutating func effect(_ node: LocatedNode) -> EffectExpectation? {
        let fields = reader.mapping(node, allowed: ["onesignal", "to", "count", "key"])
        guard let kindNode = fields["onesignal"] else {
            reader.fail(.missingKey("onesignal", of: "an effect"), at: node.location)
            return nil
        }
        let kind = reader.word(kindNode, "effect", among: ["notification"]) ?? ""
        var effect = EffectExpectation(
            kind: "onesignal.\(kind)",
            user: fields["to"].flatMap { userName($0) },
            countMin: 1,
            countMax: nil,
            hasSteadyKey: false,
            location: (fields["count"] ?? node).location
        )
        if let key = fields["key"] {
            effect.hasSteadyKey = reader.word(key, "key", among: ["steady"]) != nil
        }
        if let count = fields["count"] {
            if case .mapping = count.content {
                let bounds = reader.mapping(count, allowed: ["at-least", "at-most"])
                effect.countMin = bounds["at-least"].map { reader.count($0, in: 0...1000) } ?? 0
                effect.countMax = bounds["at-most"].map { reader.count($0, in: 0...1000) }
            } else {
                effect.countMin = reader.count(count, in: 0...1000)
                effect.countMax = effect.countMin
            }
        }
        return effect
    }

    private mutating func states(_ node: LocatedNode) -> [StateExpectation] {
        (reader.entries(node) ?? []).map { entry in
            let allowed = ["exists"] + Profile.Reading.names
            let fields = (reader.entries(entry.value) ?? []).compactMap {
                field -> StateExpectation.Field? in
                guard allowed.contains(field.key) else {
                    reader.fail(.unknownKey(field.key, allowed: allowed), at: field.keyLocation)
                    return nil
                }
                checkTemplate(field.value)
                return StateExpectation.Field(
                    name: field.key,
                    value: field.value.json,
                    location: field.value.location
                )
            }
            return StateExpectation(user: entry.key, fields: fields)
        }
    }

    /// `{{purchase.expiration_at_ms}}` must name a delivery that the contract has.
    private mutating func checkTemplate(_ node: LocatedNode) {
        guard case .scalar(let text, _) = node.content, text.hasPrefix("{{"), text.hasSuffix("}}")
        else { return }
        let name = text.dropFirst(2).dropLast(2)
        let delivery = name.split(separator: ".", maxSplits: 1).first.map(String.init) ?? ""
        if !deliveries.contains(delivery) {
            reader.fail(
                .template(String(name), known: deliveries.map { "\($0).expiration_at_ms" }),
                at: node.location
            )
        }
    }
}
