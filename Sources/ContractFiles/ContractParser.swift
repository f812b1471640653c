package import Conformance

/// Reads a contract file: one contract for every combination of its axes.
package enum ContractParser {
    /// The keys at the top of a contract file; the schema lists the same.
    package static let keys = [
        "contract", "title", "clause", "level", "source", "needs", "variants", "crash-points",
        "orders", "vary", "recorded", "max-age", "values", "strangers", "given", "steps", "expect",
    ]

    /// The keys of a delivery; the schema lists the same.
    package static let deliveryKeys = [
        "deliver", "event", "purchasely", "body", "raw", "cut-body-at", "repeats", "set", "remove",
        "padding", "nesting", "times", "together", "at", "along", "lose-answers", "cut-requests",
        "hang-ups", "authorization", "signature", "answers", "answer", "dropped", "to", "told",
        "keys",
    ]

    /// The keys of a request; the schema lists the same.
    package static let requestKeys = ["request", "send", "headers", "body", "text", "answer"]

    /// What a backend can do to OneSignal; the schema lists the same.
    package static let oneSignalEffects = [
        "notification", "tags", "cancel", "user", "user-deleted", "aliases", "alias-removed",
        "subscription", "subscription-transferred", "subscription-deleted",
    ]

    /// The keys of an answer's pattern; the schema lists the same.
    package static let answerKeys = ["status", "headers", "body", "text"]

    /// The keys of an event; the schema lists the same.
    package static let eventKeys = [
        "type", "user", "known-by", "from", "to", "product", "new-product", "store", "environment",
        "period", "reason", "time", "purchased", "expires", "grace",
    ]

    /// The keys of a Purchasely event; the schema lists the same.
    package static let purchaselyKeys = [
        "name", "user", "anonymous", "plan", "previous-plan", "subscription", "purchase-type",
        "store", "environment", "status", "other", "time", "purchased", "expires", "renews",
    ]

    /// The keys of a call; the schema lists the same.
    package static let callKeys = [
        "call", "route", "user", "account", "with", "token", "answers",
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
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let templates = TemplateChecks(contract: root, lines: lines)
        reader.errors += templates.errors
        var contracts: [Contract] = []
        for combination in combinations(axes) {
            let filled = root.filling(combination.map { ($0.name, $0.value) })
            let variant = combination.map { "\($0.name):\($0.value)" }.joined(separator: ",")
            var parser = VariantParser(reader: NodeReader())
            let contract = parser.contract(filled, id: id, variant: variant)
            for error in parser.reader.errors
            where !reader.errors.contains(error) && !templates.places.contains(error.location) {
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
    var names = NameChecks()
    private var deliveries: [String] = []
    private var providers: [String: Exchange.Party] = [:]
    private var calls: [String] = []
    /// A request says itself what must come back.
    private var hasAnswers = false

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
        var places: [SourceLocation] = []
        func placed(_ node: LocatedNode) -> Step? {
            names.noteTemplates(in: node)
            let step = step(node)
            if step != nil { places.append(node.location) }
            return step
        }
        let given = (fields["given"].map { reader.sequence($0) } ?? []).compactMap { placed($0) }
        let steps = (required("steps").map { reader.sequence($0) } ?? []).compactMap { placed($0) }
        let search = search(fields)
        let provenance = provenance(fields)
        let expectation = required("expect").map { self.expectation($0) }
        let strangers = fields["strangers"].map { reader.sequence($0) }?
            .compactMap { reader.text($0) }
        reader.errors += names.errors(strangers: strangers ?? [])
        guard let expectation else { return nil }
        check(search, steps, at: root.location)
        var contract = Contract(
            id: id,
            variant: variant,
            title: title,
            clause: clause,
            level: level,
            source: source,
            needs: needs,
            given: given,
            steps: withCrashes(steps),
            expectation: expectation,
            search: search,
            location: root.location
        )
        contract.provenance = provenance
        contract.strangers = strangers
        contract.places = StepPlaces(places)
        for refusal in Cast.refusals(ofAny: contract) {
            reader.fail(.conflict(refusal.problem, remedy: refusal.remedy), at: refusal.location)
        }
        for entry in fields["values"].flatMap({ reader.entries($0) }) ?? [] {
            contract.values[entry.key] = entry.value.json
        }
        return contract
    }

    /// `recorded`, a date, and `max-age`, how long that is good for.
    private mutating func provenance(_ fields: [String: LocatedNode]) -> Provenance? {
        guard let node = fields["recorded"] else {
            if let age = fields["max-age"] {
                reader.fail(
                    .missingKey("recorded", of: "a contract with 'max-age'"),
                    at: age.location
                )
            }
            return nil
        }
        guard let text = reader.text(node) else { return nil }
        guard let moment = Instant(iso8601: text.count == 10 ? text + "T00:00:00Z" : text) else {
            reader.fail(
                .wrongKind(expected: "a date such as 2026-11-21", found: node.kind),
                at: node.location
            )
            return nil
        }
        return Provenance(
            recorded: moment,
            ageMax: fields["max-age"].flatMap { reader.duration($0) },
            location: node.location
        )
    }

    /// `S-03`, `P-02`: a family letter and two digits.
    private mutating func clause(_ node: LocatedNode) -> String? {
        guard let text = reader.text(node) else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, ["S", "C", "P", "F", "O", "A", "G"].contains(parts[0]),
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

    // MARK: Searches

    private mutating func search(_ fields: [String: LocatedNode]) -> Search? {
        if let node = fields["crash-points"] {
            return .crashPoints(
                reader.sequence(node).compactMap { node -> CrashFault? in
                    reader.choice(node, "fault")
                }
            )
        }
        if let node = fields["orders"] {
            if node.json.int64 != nil {
                return .orders(sampleSize: reader.count(node, in: 2...200))
            }
            return reader.word(node, "choice of orders (or a number)", among: ["every"])
                .map { _ in .orders(sampleSize: 40) }
        }
        guard let node = fields["vary"] else { return nil }
        let parts = reader.mapping(node, allowed: ["what", "times"])
        guard let what = parts["what"] else {
            reader.fail(.missingKey("what", of: "'vary'"), at: node.location)
            return nil
        }
        let variation: Variation? = reader.choice(what, "variation")
        let times = parts["times"].map { reader.count($0, in: 1...200) } ?? 12
        return variation.map { .generated($0, count: times) }
    }

    private mutating func check(_ search: Search?, _ steps: [Step], at location: SourceLocation) {
        let events = steps.count { step in
            guard case .deliver(let delivery) = step else { return false }
            if case .repeats = delivery.subject { return false }
            return true
        }
        switch search {
        case .orders where events < 2:
            reader.fail(
                .conflict(
                    "one event has only one order",
                    remedy: "Deliver at least two events in 'steps'."
                ),
                at: location
            )
        case .generated where events != 1:
            reader.fail(
                .conflict(
                    "'vary' varies one event, and 'steps' delivers \(events)",
                    remedy: "Move the other deliveries to 'given'."
                ),
                at: location
            )
        default: break
        }
    }

    /// Restarts that say `during` belong to the delivery they name.
    private var crashes: [String: Crash] = [:]

    private func withCrashes(_ steps: [Step]) -> [Step] {
        steps.map { step in
            guard case .deliver(var delivery) = step, let crash = crashes[delivery.name] else {
                return step
            }
            delivery.crash = crash
            return .deliver(delivery)
        }
    }

    // MARK: Steps

    static let stepKeys = [
        "register", "deliver", "call", "request", "together", "restart", "onesignal", "revenuecat",
        "firebase", "revoke", "disable", "account", "name", "app", "phone", "bridge", "backend",
        "store",
    ]

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
            return name(kind.value, .user, .introduces).map(Step.register)
        case "restart":
            _ = reader.mapping(node, allowed: ["restart"])
            return restart(kind.value)
        case "firebase":
            _ = reader.mapping(node, allowed: ["firebase"])
            if case .scalar = kind.value.content {
                return reader.word(kind.value, "change at Firebase", among: ["rotate-keys"])
                    .map { _ in .rotateKeys }
            }
            return .provider(providerPlan(.firebase, kind.value))
        case "onesignal", "revenuecat":
            _ = reader.mapping(node, allowed: [kind.key])
            return Exchange.Party(named: kind.key).map {
                .provider(providerPlan($0, kind.value))
            }
        case "revoke", "disable":
            _ = reader.mapping(node, allowed: [kind.key])
            let change = Step.AccountChange(rawValue: kind.key) ?? .revoke
            return userName(kind.value).map { .account(user: $0, change) }
        case "name":
            _ = reader.mapping(node, allowed: ["name"])
            return namedUser(kind.value)
        case "account":
            _ = reader.mapping(node, allowed: ["account"])
            return name(kind.value, .account, .introduces).map(Step.createAccount)
        case "app", "phone", "bridge", "backend", "store":
            return phoneStep(kind.key, kind.value, node).map(Step.phone)
        case "call": return call(node).map { .call([$0]) }
        case "request": return request(node).map(Step.request)
        case "together":
            _ = reader.mapping(node, allowed: ["together"])
            return .call(reader.sequence(kind.value).compactMap { call($0) })
        default: return delivery(node).map(Step.deliver)
        }
    }

    /// `KILL`, or a mapping that says when, or in which time zone the backend comes back.
    private mutating func restart(_ node: LocatedNode) -> Step? {
        guard case .mapping = node.content else {
            let signal: Restart.Signal? = reader.choice(node, "signal")
            return signal.map { .restart(Restart(signal: $0)) }
        }
        if node["at-call"] != nil { return killAtCall(node) }
        let fields = reader.mapping(
            node,
            allowed: ["signal", "during", "moment", "time-zone", "at-call", "to"]
        )
        if let to = fields["to"] {
            reader.fail(.missingKey("at-call", of: "a restart with 'to'"), at: to.location)
        }
        let signal: Restart.Signal =
            fields["signal"].flatMap { reader.choice($0, "signal") } ?? .kill
        let zone = fields["time-zone"].flatMap { reader.text($0) }
        guard let during = fields["during"] else {
            return .restart(Restart(signal: signal, timeZone: zone))
        }
        guard let name = reader.text(during) else { return nil }
        guard deliveries.contains(name) else {
            reader.fail(.unknownDelivery(name, known: deliveries), at: during.location)
            return nil
        }
        crashes[name] = Crash(
            signal: signal,
            moment: fields["moment"].flatMap { reader.choice($0, "moment") } ?? .sent
        )
        return nil
    }

    /// `{at-call: 2, to: onesignal}`: killed at the second call to that provider.
    private mutating func killAtCall(_ node: LocatedNode) -> Step? {
        let fields = reader.mapping(node, allowed: ["at-call", "to"])
        guard let call = fields["at-call"], let to = fields["to"] else {
            reader.fail(.missingKey("to", of: "a restart with 'at-call'"), at: node.location)
            return nil
        }
        let position = reader.count(call, in: 1...1000)
        return reader.word(to, "provider", among: ["onesignal", "revenuecat", "firebase"])
            .flatMap { Exchange.Party(named: $0) }
            .map { .killAtCall(party: $0, position: position) }
    }

    private mutating func call(_ node: LocatedNode) -> Call? {
        let fields = reader.mapping(node, allowed: ContractParser.callKeys)
        guard let nameNode = fields["call"], let name = reader.text(nameNode) else {
            reader.fail(.missingKey("call", of: "a call"), at: node.location)
            return nil
        }
        if calls.contains(name) { reader.fail(.duplicateDelivery(name), at: nameNode.location) }
        calls.append(name)
        guard let routeNode = fields["route"] else {
            reader.fail(.missingKey("route", of: "a call"), at: node.location)
            return nil
        }
        guard let route: Call.Route = reader.choice(routeNode, "route") else { return nil }
        var call = Call(name: name, route: route)
        let isIntroduction = route == .register || route == .protected
        call.user = fields["user"].flatMap {
            self.name($0, .user, isIntroduction ? .introduces : .mentions)
        }
        call.account = fields["account"].flatMap { self.name($0, .account, .refers) }
        for entry in fields["with"].flatMap({ reader.entries($0) }) ?? [] {
            guard Call.valueNames.contains(entry.key) else {
                reader.fail(
                    .unknownKey(entry.key, allowed: Call.valueNames),
                    at: entry.keyLocation
                )
                continue
            }
            guard let text = reader.anyText(entry.value) else { continue }
            call.values[entry.key] = .some(entry.value.json.isNull ? nil : text)
        }
        if let token = fields["token"] { call.token = self.token(token) }
        if route == .protected, call.token == nil { call.token = TokenSpec() }
        call.answers = fields["answers"].flatMap { answers($0) }
        return call
    }

    private mutating func request(_ node: LocatedNode) -> AppRequest? {
        let fields = reader.mapping(node, allowed: ContractParser.requestKeys)
        guard let nameNode = fields["request"], let name = reader.text(nameNode) else { return nil }
        if calls.contains(name) { reader.fail(.duplicateDelivery(name), at: nameNode.location) }
        calls.append(name)
        guard let send = fields["send"], let line = reader.text(send) else {
            reader.fail(.missingKey("send", of: "a request"), at: node.location)
            return nil
        }
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2, words[0].allSatisfy({ $0.isASCII && $0.isUppercase }),
            words[1].hasPrefix("/"), !words[1].contains(where: \.isWhitespace)
        else {
            reader.fail(
                .wrongKind(
                    expected: "a method and a path, such as POST /api/user/register",
                    found: send.kind
                ),
                at: send.location
            )
            return nil
        }
        var request = AppRequest(name: name, method: words[0], target: words[1])
        request.fields = headers(fields["headers"])
        request.body = body(fields, of: node)
        request.answer = fields["answer"].flatMap { answerPattern($0) }
        return request
    }

    private mutating func headers(_ node: LocatedNode?) -> [HTTPMessage.Field] {
        (node.flatMap { reader.entries($0) } ?? []).compactMap { entry in
            guard case .scalar(let text, _) = entry.value.content else {
                reader.fail(
                    .wrongKind(expected: "a text", found: entry.value.kind),
                    at: entry.value.location
                )
                return nil
            }
            return HTTPMessage.Field(entry.key, text)
        }
    }

    private mutating func body(
        _ fields: [String: LocatedNode],
        of node: LocatedNode
    ) -> AppRequest.Body? {
        if fields["body"] != nil, fields["text"] != nil {
            reader.fail(
                .conflict(
                    "a body is JSON or text, not both",
                    remedy: "Remove 'text', or remove 'body'."
                ),
                at: node.location
            )
        }
        if let body = fields["body"] { return .json(body.json) }
        guard let text = fields["text"] else { return nil }
        guard case .scalar(let plain, _) = text.content else {
            reader.fail(.wrongKind(expected: "a text", found: text.kind), at: text.location)
            return nil
        }
        return .text(plain)
    }

    /// A status, or a mapping that says more.
    private mutating func answerPattern(_ node: LocatedNode) -> AnswerPattern? {
        hasAnswers = true
        guard case .mapping = node.content else {
            return AnswerPattern(status: reader.count(node, in: 100...599), location: node.location)
        }
        let fields = reader.mapping(node, allowed: ContractParser.answerKeys)
        guard let status = fields["status"] else {
            reader.fail(.missingKey("status", of: "an answer"), at: node.location)
            return nil
        }
        var pattern = AnswerPattern(
            status: reader.count(status, in: 100...599),
            location: status.location
        )
        pattern.fields = headers(fields["headers"])
        pattern.body = body(fields, of: node)
        if let body = fields["body"] {
            pattern.places = body.places()
        }
        return pattern
    }

    private mutating func token(_ node: LocatedNode) -> TokenSpec {
        var spec = TokenSpec()
        let fields = reader.mapping(node, allowed: ["kind", "signing", "claims", "raw"])
        if let kind = fields["kind"] {
            spec.kind = reader.choice(kind, "kind of token") ?? .idToken
        }
        if let signing = fields["signing"] {
            spec.signing = reader.choice(signing, "signing") ?? .genuine
        }
        for entry in fields["claims"].flatMap({ reader.entries($0) }) ?? [] {
            spec.claims[entry.key] = .some(entry.value.json.isNull ? nil : entry.value.json)
        }
        spec.raw = fields["raw"].flatMap { reader.anyText($0) }
        return spec
    }

    private mutating func providerPlan(_ provider: Exchange.Party, _ node: LocatedNode)
        -> ProviderPlan
    {
        let fields = reader.mapping(
            node,
            allowed: ["answers", "lose-answer-of", "forever", "reads"]
        )
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
            isPermanent: fields["forever"].map { reader.flag($0) } ?? false,
            // Backends only read from these two.
            includesReads: provider != .oneSignal
                || (fields["reads"].map { reader.flag($0) } ?? false)
        )
    }

    private mutating func providerAnswer(_ node: LocatedNode) -> ProviderPlan.Answer? {
        if node.json.int64 != nil { return .status(reader.count(node, in: 200...599)) }
        guard let text = reader.text(node) else { return nil }
        guard let answer = ProviderPlan.Answer(spelling: text) else {
            let allowed = ProviderPlan.Answer.spellings
            reader.fail(.unknownValue(text, what: "answer", allowed: allowed), at: node.location)
            return nil
        }
        return answer
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
        switch subject {
        case .purchasely: delivery.provider = .purchasely
        case .repeats(let name): delivery.provider = providers[name] ?? .revenueCat
        case .event, .body, .raw, .told:
            if let to = fields["to"] {
                let name = reader.word(to, "webhook", among: ["revenuecat", "purchasely"])
                delivery.provider = name == "purchasely" ? .purchasely : .revenueCat
            }
        }
        providers[name] = delivery.provider
        delivery.isDropped = fields["dropped"].map { reader.flag($0) } ?? false
        if let keys = fields["keys"] {
            delivery.shufflesKeys = reader.word(keys, "order of keys", among: ["shuffled"]) != nil
        }
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
        if let answer = fields["answer"], let pattern = answerPattern(answer) {
            delivery.answerPattern = pattern
            delivery.answers = .statuses([pattern.status])
        }
        return delivery
    }

    private mutating func subject(
        _ fields: [String: LocatedNode],
        of node: LocatedNode
    ) -> Delivery.Subject? {
        let given = ["event", "purchasely", "body", "raw", "repeats", "told"].filter {
            fields[$0] != nil
        }
        guard given.count == 1 else {
            // A misspelt key has been reported already.
            if given.isEmpty, reader.errors.contains(where: { $0.isUnknownKey(in: node) }) {
                return nil
            }
            reader.fail(
                .conflict(
                    given.isEmpty
                        ? "a delivery needs something to deliver"
                        : "a delivery has one of event, purchasely, body, raw, repeats and told, not several",
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
        if let event = fields["purchasely"] {
            return purchaselySpec(event).map(Delivery.Subject.purchasely)
        }
        if let body = fields["body"] { return .body(body.json) }
        if let told = fields["told"] {
            return reader.word(told, "event type", among: EventSpec.types)
                .map(Delivery.Subject.told)
        }
        if let raw = fields["raw"] {
            return reader.anyText(raw).map { .raw(.text($0)) }
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
        spec.reason = fields["reason"].flatMap { reason($0, of: type) }
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

    private mutating func purchaselySpec(_ node: LocatedNode) -> PurchaselySpec? {
        let fields = reader.mapping(node, allowed: ContractParser.purchaselyKeys)
        guard let nameNode = fields["name"], let name = reader.text(nameNode) else {
            reader.fail(.missingKey("name", of: "a Purchasely event"), at: node.location)
            return nil
        }
        if !PurchaselySpec.names.contains(name), !name.hasPrefix("FUTURE_") {
            reader.fail(
                .unknownValue(name, what: "event name", allowed: PurchaselySpec.names),
                at: nameNode.location
            )
        }
        guard let userNode = fields["user"], let user = userName(userNode) else {
            reader.fail(.missingKey("user", of: "a Purchasely event"), at: node.location)
            return nil
        }
        var spec = PurchaselySpec(name: name, user: user)
        spec.isAnonymous = fields["anonymous"].map { reader.flag($0) } ?? false
        spec.plan = fields["plan"].flatMap { reader.text($0) } ?? spec.plan
        spec.previousPlan = fields["previous-plan"].flatMap { reader.text($0) }
        spec.subscription = fields["subscription"].flatMap { reader.text($0) } ?? spec.subscription
        if let type = fields["purchase-type"] {
            spec.purchaseType =
                reader.word(type, "purchase type", among: PurchaselySpec.purchaseTypes) ?? ""
        }
        if let store = fields["store"] {
            spec.store = reader.word(store, "store", among: PurchaselySpec.stores) ?? ""
        }
        if let environment = fields["environment"] {
            let names = ["PRODUCTION", "SANDBOX"]
            spec.environment = reader.word(environment, "environment", among: names) ?? ""
        }
        spec.status = fields["status"].flatMap { reader.text($0) }
        spec.other = fields["other"].flatMap { userName($0) }
        spec.time = fields["time"].flatMap { reader.duration($0) } ?? .zero
        spec.purchased = fields["purchased"].flatMap { reader.duration($0) }
        spec.expires = fields["expires"].flatMap { reader.duration($0) }
        spec.renews = fields["renews"].flatMap { reader.duration($0) }
        return spec
    }

    // MARK: Expectation

    static let expectationKeys = [
        "answers", "within", "like", "compare", "effects", "state", "overlap", "ids", "alike",
        "race", "secrets", "key-fetches", "watch", "app", "forgets",
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
            compared(compare, &expectation)
        }
        for entry in fields["ids"].flatMap({ reader.entries($0) }) ?? [] {
            guard calls.contains(entry.key) else {
                reader.fail(.unknownKey(entry.key, allowed: calls), at: entry.keyLocation)
                continue
            }
            guard let user = expectedUser(entry.value) else { continue }
            expectation.calls.append(
                CallExpectation(call: entry.key, user: user, location: entry.value.location)
            )
        }
        if let alike = fields["alike"] { expectation.alike = callNames(alike) }
        if let node = fields["race"] {
            let parts = reader.mapping(node, allowed: ["calls", "winners"])
            expectation.race = RaceExpectation(
                calls: parts["calls"].map { callNames($0) } ?? [],
                winnerCount: parts["winners"].map { reader.count($0, in: 0...64) } ?? 1,
                location: node.location
            )
        }
        if let secrets = fields["secrets"] {
            expectation.hidesSecrets = reader.word(secrets, "wish", among: ["hidden"]) != nil
        }
        if let node = fields["key-fetches"] {
            let parts = reader.mapping(node, allowed: ["at-most"])
            expectation.keyFetchesMax = parts["at-most"].map { reader.count($0, in: 0...100) }
        }
        expectation.watch = fields["watch"].flatMap { reader.duration($0) }
        for effect in fields["effects"].map({ reader.sequence($0) }) ?? [] {
            if let effect = self.effect(effect) { expectation.effects.append(effect) }
        }
        if let state = fields["state"] { expectation.states = states(state) }
        if let overlap = fields["overlap"] {
            expectation.overlapMin = reader.count(overlap, in: 2...256)
        }
        expectation.app = fields["app"].map { app($0) }
        if let forgets = fields["forgets"] {
            expectation.forgotten = reader.sequence(forgets).compactMap { expectedUser($0) }
            expectation.forgottenLocation = forgets.location
        }
        let isSaid = ["answers", "like", "effects", "state", "ids", "race", "app", "forgets"]
            .contains {
                fields[$0] != nil
            }
        if !isSaid, !hasAnswers {
            reader.fail(
                .conflict("this contract expects nothing", remedy: "Add 'answers: 200'."),
                at: node.location
            )
        }
        return expectation
    }

    /// `state`, `fields`, `effects`, or the names of mapped fields.
    private mutating func compared(_ node: LocatedNode, _ expectation: inout Expectation) {
        expectation.compared = []
        let aspects = Expectation.Aspect.allCases.map(\.rawValue)
        for element in reader.sequence(node) {
            let word = reader.word(element, "aspect", among: aspects + Profile.Reading.names)
            guard let word else { continue }
            if let aspect = Expectation.Aspect(rawValue: word) {
                expectation.compared.insert(aspect)
            } else {
                expectation.compared.insert(.fields)
                expectation.comparedFields.append(word)
            }
        }
    }

    private mutating func callNames(_ node: LocatedNode) -> [String] {
        reader.sequence(node).compactMap { element in
            reader.word(element, "call", among: calls)
        }
    }

    private mutating func answers(_ node: LocatedNode) -> AnswerExpectation? {
        if case .sequence(let nodes) = node.content {
            return .statuses(nodes.map { reader.count($0, in: 100...599) })
        }
        if node.json.int64 != nil { return .statuses([reader.count(node, in: 100...599)]) }
        let words: [String: AnswerExpectation] = [
            "refused": .refused, "rejected": .rejected, "answered": .answered,
            "anything": .anything, "success": .success, "denied": .denied, "conflict": .conflict,
        ]
        return reader.word(node, "answer (or a status)", among: words.keys.sorted())
            .flatMap { words[$0] }
    }

    private mutating func effect(_ node: LocatedNode) -> EffectExpectation? {
        let fields = reader.mapping(
            node,
            allowed: [
                "onesignal", "to", "count", "key", "address", "unlike", "attempts", "pace", "added",
                "says",
            ]
        )
        guard let kindNode = fields["onesignal"] else {
            reader.fail(.missingKey("onesignal", of: "an effect"), at: node.location)
            return nil
        }
        let kind = reader.word(kindNode, "effect", among: ContractParser.oneSignalEffects) ?? ""
        let isClosed = fields["count"] != nil
        var effect = EffectExpectation(
            kind: "onesignal.\(kind)",
            user: fields["to"].flatMap { expectedUser($0) },
            countMin: isClosed
                || kind != "tags" && fields["unlike"] == nil && fields["added"] == nil
                ? 1 : 0,
            countMax: nil,
            hasSteadyKey: false,
            location: (fields["count"] ?? node).location
        )
        if let key = fields["key"] {
            effect.hasSteadyKey = reader.word(key, "key", among: ["steady"]) != nil
        }
        if let address = fields["address"] {
            effect.isPersonal = reader.word(address, "address", among: ["personal"]) != nil
        }
        effect.unlike = fields["unlike"].flatMap { expectedUser($0) }
        if let says = fields["says"] {
            effect.says = says.json
        }
        if let attempts = fields["attempts"] {
            let bounds = reader.mapping(attempts, allowed: ["at-most"])
            effect.attemptsMax = bounds["at-most"].map { reader.count($0, in: 0...1000) }
        }
        if let added = fields["added"] {
            let bounds = reader.mapping(added, allowed: ["at-most"])
            effect.addedMax = bounds["at-most"].map { reader.count($0, in: 0...1000) }
        }
        if let pace = fields["pace"] {
            effect.obeysRetryAfter = reader.word(pace, "pace", among: ["retry-after"]) != nil
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
            noteKey(entry, .user, .refers)
            let allowed = ["exists"] + Profile.Reading.names
            let fields = (reader.entries(entry.value) ?? []).compactMap {
                field -> StateExpectation.Field? in
                guard allowed.contains(field.key) else {
                    reader.fail(.unknownKey(field.key, allowed: allowed), at: field.keyLocation)
                    return nil
                }
                return StateExpectation.Field(
                    name: field.key,
                    value: field.value.json,
                    location: field.value.location
                )
            }
            return StateExpectation(user: entry.key, fields: fields)
        }
    }
}
