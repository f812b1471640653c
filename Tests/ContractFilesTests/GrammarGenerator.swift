import Contracts
import Grammar
import Providers
import Testing
import Values

/// Makes up contracts from the grammar's shapes: whatever the table allows, it writes some day.
///
/// What holds between keys and is no part of the shapes stands in `settle`.
struct GrammarGenerator {
    /// Who is to play what is made up.
    enum ContractKind: CaseIterable {
        /// A backend; an app with accounts may stand before it.
        case backend
        /// A phone, in a device scenario.
        case device
        /// Whoever; some of it nobody plays.
        case any

        /// The steps that it is made of, by their leading keys; nil: all.
        var steps: Set<String>? {
            switch self {
            case .backend:
                [
                    "register", "deliver", "call", "request", "together", "restart", "onesignal",
                    "revenuecat", "firebase", "revoke", "disable", "account", "name", "probe",
                    "wait-for-end",
                ]
            case .device: ["name", "app", "phone", "bridge", "backend"]
            case .any: nil
            }
        }
    }

    var random: SeededGenerator
    private var contractKind = ContractKind.any
    /// What is being made up stands at such a place.
    private var place: TemplateSlot?
    private var deliveries: [String] = []
    private var calls: [String] = []
    private var interrupted: Set<String> = []

    static let place = SourceLocation(path: "made-up.yaml", line: 1, column: 1)

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// A whole contract about users, accounts and phones that are introduced.
    mutating func contract() -> LocatedNode {
        (deliveries, calls, interrupted) = ([], [], [])
        contractKind = ContractKind.allCases.randomElement(using: &random) ?? .any
        var entries = entries(of: Contract.grammar.shape)
        set("given", LocatedNode(.sequence(given), Self.place), in: &entries)
        settleClock(&entries)
        set("contract", word("a/b"), in: &entries)
        return LocatedNode(.mapping(entries), Self.place)
    }

    /// A profile of random keys; what holds between keys is not settled.
    mutating func profile() -> LocatedNode {
        contractKind = .any
        return LocatedNode(.mapping(entries(of: Profile.grammar.shape)), Self.place)
    }

    /// Everybody whom the rest may name.
    private var given: [LocatedNode] {
        let launches = [mapping([("app", word("launch")), ("on", word("tablet"))])]
        let users = ["ada", "bob", "cleo"]
        let accounts = ["home", "work"].map { mapping([("account", word($0))]) }
        switch contractKind {
        case .device:
            return users.map { mapping([("name", mapping([($0, word("id-" + $0))]))]) }
                + launches + [mapping([("app", word("launch"))])]
        case .backend: return users.map { mapping([("register", word($0))]) } + accounts
        case .any:
            return users.map { mapping([("register", word($0))]) } + accounts + launches
        }
    }

    // MARK: Shapes

    private mutating func templated(_ shape: Shape, _ place: TemplateSlot) -> LocatedNode? {
        let outer = self.place
        defer { self.place = outer }
        self.place = place
        return node(shape)
    }

    /// A key of a mapping, in which no templates stand.
    private mutating func plain(_ shape: Shape) -> LocatedNode? {
        let outer = place
        defer { place = outer }
        place = nil
        return node(shape)
    }

    /// A template that stands for something there.
    private mutating func template() -> String? {
        var names = TemplateNames()
        names.users = ["ada", "bob", "cleo"]
        names.accounts = contractKind == .device ? [] : ["home", "work"]
        names.deliveries = deliveries
        names.calls = calls
        let words = place?.words.flatMap { $0.examples(names) } ?? []
        guard let word = words.randomElement(using: &random) else { return nil }
        let isMoment = ["now", "date", "seconds"].contains(word)
        return "{{\(word)\(isMoment ? "+30d" : "")}}"
    }

    /// Nil when nothing can stand there: a delivery is repeated, and there is none.
    private mutating func node(_ shape: Shape) -> LocatedNode? {
        switch shape {
        case .text, .scalar: quoted(text(mayBeEmpty: false))
        case .verbatim, .secret: quoted(text(mayBeEmpty: true))
        case .templated(let shape, let place): templated(shape, place)
        case .pattern(let pattern, _):
            quoted(Self.examples(of: pattern).randomElement(using: &random))
        case .name(let kind, let role): name(kind, role)
        case .nameAlternatives:
            word(["ada", "ada|bob", "bob|cleo|ada"].randomElement(using: &random))
        case .flag: word(Bool.random(using: &random) ? "true" : "false")
        case .count(let range): word(String(Int.random(in: range, using: &random)))
        case .duration:
            word(["+5m", "200ms", "1h", "30d", "0s", "17s"].randomElement(using: &random))
        case .words(let words): word(words.randomElement(using: &random))
        case .openWords(let words, let prefix):
            word((words + [prefix + "KIND"]).randomElement(using: &random))
        case .json: json(depth: 0)
        case .null: word("null")
        case .pointer:
            quoted(["/a/b", "/event/price", "/a~1b/0", "/~0"].randomElement(using: &random))
        case .list(let element, let countMin): list(element, countMin)
        case .map(let key, let value, let range): map(key, value, range)
        case .construct(let construct): whole(construct)
        case .either(let shapes): either(shapes)
        }
    }

    /// Nil when something cannot stand there that has to: nothing can be waited for yet.
    private mutating func whole(_ construct: ConstructShape) -> LocatedNode? {
        let entries = entries(of: construct)
        let lacks = construct.keys.contains { $0.isRequired && !has($0.key, entries) }
        return lacks ? nil : LocatedNode(.mapping(entries), Self.place)
    }

    private mutating func either(_ shapes: [Shape]) -> LocatedNode? {
        let played = shapes.filter { shape in
            guard shapes.count > 5, case .construct(let construct) = shape,
                let steps = contractKind.steps
            else { return true }
            return steps.contains(construct.keys.first?.key ?? "")
        }
        for shape in played.shuffled(using: &random) {
            if let node = node(shape) { return node }
        }
        return nil
    }

    private mutating func name(_ kind: NameUses.Kind, _ role: NameUses.Role) -> LocatedNode? {
        switch (kind, role) {
        case (.user, _): return word(["ada", "bob", "cleo"].randomElement(using: &random))
        case (.account, _), (.holder, _):
            return word(["home", "work"].randomElement(using: &random))
        case (.phone, _): return word(["phone", "tablet"].randomElement(using: &random))
        case (.delivery, .introduces):
            deliveries.append("delivery\(deliveries.count)")
            return word(deliveries.last)
        case (.call, .introduces):
            calls.append("call\(calls.count)")
            return word(calls.last)
        case (.delivery, _): return deliveries.dropLast().randomElement(using: &random).map(word)
        case (.call, _): return calls.randomElement(using: &random).map(word)
        }
    }

    private mutating func list(_ element: Shape, _ countMin: Int) -> LocatedNode? {
        let count = max(countMin, Int.random(in: 0...3, using: &random))
        var nodes: [LocatedNode] = []
        for _ in 0..<count {
            if let node = node(element) { nodes.append(node) }
        }
        return nodes.count < countMin ? nil : LocatedNode(.sequence(nodes), Self.place)
    }

    private mutating func map(
        _ key: Shape,
        _ value: Shape,
        _ range: ClosedRange<Int>
    ) -> LocatedNode? {
        let count = min(
            range.upperBound,
            max(range.lowerBound, Int.random(in: 0...3, using: &random))
        )
        var entries: [Entry] = []
        for _ in 0..<count {
            guard let name = plain(key)?.scalar, let value = node(value) else { continue }
            set(name, value, in: &entries)
        }
        return entries.count < range.lowerBound
            ? nil : LocatedNode(.mapping(entries), Self.place)
    }

    // MARK: Constructs

    private mutating func entries(of construct: ConstructShape) -> [Entry] {
        let chosen = construct.alternativeKeys.randomElement(using: &random)
        var entries: [Entry] = []
        for key in construct.keys where construct.name != "contract" || key.key != "given" {
            let isLeft = construct.alternativeKeys.contains(key.key) && key.key != chosen
            let isWanted =
                key.isRequired || key.key == chosen
                || Int.random(in: 0..<3, using: &random) == 0
            guard isWanted, !isLeft, let node = node(key.shape) else { continue }
            set(key.key, node, in: &entries)
        }
        for group in construct.mutuallyExclusiveKeys {
            let given = group.filter { has($0, entries) }
            for key in given.dropFirst() { entries.removeAll { $0.key == key } }
        }
        settle(construct, &entries)
        // A key goes with the one that it needs, until none is left alone.
        while let alone = construct.companionKeys.first(where: { key, others in
            has(key, entries) && !others.contains { has($0, entries) }
        }) {
            entries.removeAll { $0.key == alone.key }
        }
        return entries
    }

    /// What holds between keys beyond the shapes.
    private mutating func settle(_ construct: ConstructShape, _ entries: inout [Entry]) {
        switch construct.name {
        case "contract": settleContract(&entries)
        case "delivery": settleDelivery(&entries)
        case "event": settleEvent(&entries)
        case "restart", "step-restart": settleRestart(&entries)
        case "call":
            let route = entries.first { $0.key == "route" }?.value.scalar
            if route != "protected" { entries.removeAll { $0.key == "token" } }
        case "edit":
            if has("set", entries) { set("to", json(depth: 1), in: &entries) }
        case "app":
            set("account", word("home"), in: &entries)
            set("for", word("2s"), in: &entries)
            // Nobody has an account where nobody plays its provider.
            if contractKind == .device { set("app", word("login"), in: &entries) }
        case "phone": set("on", word("tablet"), in: &entries)
        case let name where name.hasPrefix("bounds-") || name.hasPrefix("limit-"):
            set("at-most", word("3"), in: &entries)
        case "onesignal-plan", "revenuecat-plan", "firebase-plan":
            entries.removeAll { $0.key == "responses" || $0.key == "lost-response-of" }
            let responses = [node(.count(200...599)), quoted("slow 3s"), word("reset")]
            set(
                "responses",
                LocatedNode(.sequence(responses.compactMap(\.self)), Self.place),
                in: &entries
            )
        case "app-expectation": set("start", word("bounded"), in: &entries)
        case "expect":
            set("status", word("200"), in: &entries)
            let effects = entries.first { $0.key == "effects" }?.value
            if has("like", entries), effects.map(Self.areOfSteps) == true {
                set("like", word("before"), in: &entries)
            }
            switch contractKind {
            case .backend: entries.removeAll { $0.key == "app" }
            case .device:
                entries.removeAll { $0.key != "app" && $0.key != "status" }
                if let app = node(.construct(AppExpectation.grammar.shape)) {
                    set("app", app, in: &entries)
                }
            case .any: break
            }
        default: break
        }
    }

    private mutating func settleContract(_ entries: inout [Entry]) {
        entries.removeAll { ["variants", "orders", "vary"].contains($0.key) }
        if !has("recorded", entries) { entries.removeAll { $0.key == "max-age" } }
        settleEnds(&entries)
    }

    /// A clock is set where time passes between plain deliveries.
    private func settleClock(_ entries: inout [Entry]) {
        let steps = entries.first { $0.key == "steps" }?.value.sequence ?? []
        let given = entries.first { $0.key == "given" }?.value.sequence ?? []
        let plain = (given + steps).allSatisfy { step in
            step["register"] != nil || step["account"] != nil
                || step["deliver"] != nil
                    && !["expires", "grace"].contains { step["event"]?[$0]?.scalar == "soon" }
        }
        let passes = steps.contains { ($0["at"]?.scalar ?? "0s") != "0s" }
        guard !(plain && passes), let needs = entries.first(where: { $0.key == "needs" }),
            let names = needs.value.sequence
        else { return }
        let others = names.filter { $0.scalar != "clock" }
        set("needs", LocatedNode(.sequence(others), Self.place), in: &entries)
    }

    /// Nothing ends soon beside a twin, and only what ends soon is waited for.
    private func settleEnds(_ entries: inout [Entry]) {
        guard let steps = entries.first(where: { $0.key == "steps" }),
            case .sequence(var nodes) = steps.value.content
        else { return }
        let expectation = entries.first { $0.key == "expect" }?.value
        let hasBaseline =
            expectation?["like"] != nil || expectation?["effects"].map(Self.areOfSteps) == true
        if hasBaseline {
            nodes = nodes.map { $0["event"] == nil ? $0 : $0.replacing("soon", by: "17s") }
        }
        var ending: Set<String> = []
        nodes = nodes.map { step in
            let calls = [step] + (step["together"]?.sequence ?? [])
            let isEndless = calls.contains { call in
                call["token"]?["once-over"]?.scalar.map { !ending.contains($0) } ?? false
            }
            for call in calls
            where call["token"]?["expires"] != nil && call["route"]?.scalar == "protected" {
                if let name = call["call"]?.scalar { ending.insert(name) }
            }
            return isEndless ? step.leavingOut("once-over") : step
        }
        let soon = nodes.filter { step in
            ["expires", "grace"].contains { step["event"]?[$0]?.scalar == "soon" }
        }.compactMap { $0["deliver"]?.scalar }
        nodes.removeAll { $0["wait-for-end"]?.scalar.map { !soon.contains($0) } ?? false }
        settlePhases(&nodes)
        let isReleased = nodes.contains { node in
            node["deliver"] != nil
                && (node["concurrent-with"] != nil || node["together"]?.scalar == "true")
        }
        if !isReleased,
            let expectation = entries.first(where: { $0.key == "expect" })
        {
            set("expect", expectation.value.leavingOut("overlap"), in: &entries)
        }
        set("steps", LocatedNode(.sequence(nodes), Self.place), in: &entries)
    }

    /// Whether an effect is one of the steps, which are compared with a run without them.
    private static func areOfSteps(_ effects: LocatedNode) -> Bool {
        (effects.sequence ?? []).contains { effect in
            ["unlike", "added", "added-like"].contains { effect[$0] != nil }
        }
    }

    private static let faults = [
        "lost-responses", "truncated-requests", "disconnects", "database-failures",
    ]

    /// What goes out with the next step has one, and neither is disturbed.
    private func settlePhases(_ nodes: inout [LocatedNode]) {
        let interrupted = nodes.compactMap { $0["restart"]?["during"]?.scalar }
        func isDisturbed(_ node: LocatedNode) -> Bool {
            (Self.faults + ["dropped"]).contains { node[$0] != nil }
                || interrupted.contains(node["deliver"]?.scalar ?? "")
        }
        func isStoreBroken(_ node: LocatedNode) -> Bool {
            ([node] + (node["together"]?.sequence ?? [])).contains { $0["database-failure"] != nil }
        }
        // A restart that belongs to a delivery is no step.
        let places = nodes.indices.filter { nodes[$0]["restart"]?["during"] == nil }
        for (place, index) in places.enumerated() where nodes[index]["concurrent-with"] != nil {
            let next = place + 1 < places.count ? nodes[places[place + 1]] : nil
            let fits = next.map { next in
                let isRequest =
                    ["deliver", "call"].contains { next[$0] != nil }
                    || next["together"]?.sequence != nil
                return isRequest && !isDisturbed(next) && !isStoreBroken(next)
            }
            if fits != true || isDisturbed(nodes[index]) {
                nodes[index] = nodes[index].leavingOut("concurrent-with")
            }
        }
    }

    private mutating func settleDelivery(_ entries: inout [Entry]) {
        if has("together", entries) {
            entries.removeAll { Self.faults.contains($0.key) }
        }
        if Self.faults.contains(where: { has($0, entries) }) {
            set("retry", word("schedule"), in: &entries)
        }
        if has("together", entries) { set("times", word("3"), in: &entries) }
        let subjects = ["event", "purchasely", "body", "raw", "repeats", "store-event"]
        // Nothing could be repeated yet.
        if !subjects.contains(where: { has($0, entries) }) {
            set("body", json(depth: 1), in: &entries)
        }
    }

    private mutating func settleEvent(_ entries: inout [Entry]) {
        set("user", word("ada"), in: &entries)
        guard let reason = entries.first(where: { $0.key == "reason" })?.value.scalar else {
            return
        }
        let types = RevenueCatEventType.Documented.allCases.filter {
            $0.facts.reasons.contains(reason)
        }.map(\.rawValue)
        set("type", word(types.randomElement(using: &random) ?? "FUTURE_KIND"), in: &entries)
    }

    private mutating func settleRestart(_ entries: inout [Entry]) {
        if has("at-call", entries) || has("to", entries) {
            entries = entries.filter { ["restart", "at-call", "to"].contains($0.key) }
        }
        guard let during = entries.first(where: { $0.key == "during" }),
            case .scalar(let name, _) = during.value.content, !interrupted.insert(name).inserted
        else { return }
        entries.removeAll { ["during", "phase"].contains($0.key) }
    }

    // MARK: Values

    private static let unusualCharacters = [
        "x", "premium_monthly", "Zoë 🦊", "a: b", "# no comment", "- dash", "\"quoted\" \\ back",
        "null", "true", "123", "1e5", "~", "line\nbreak\ttab", "a\u{2028}b\u{85}c", "\u{feff}bom",
        "{{{{user.ada}}", "{curly}", "[square]", "*alias", "&anchor", "!tag", "%percent", "@at",
        " leading", "trailing ", "'single'", "a, b", "key:", "{{{{", "no", "Off", "0x1f",
    ]

    private mutating func text(mayBeEmpty: Bool) -> String {
        if Int.random(in: 0..<4, using: &random) == 0, let template = template() {
            return Bool.random(using: &random) ? template : "a \(template) b"
        }
        let texts = Self.unusualCharacters + (mayBeEmpty ? [""] : [])
        return texts.randomElement(using: &random) ?? "x"
    }

    private mutating func json(depth: Int) -> LocatedNode {
        switch Int.random(in: 0..<(depth < 3 ? 8 : 6), using: &random) {
        case 0: return word("null")
        case 1: return word("true")
        case 2:
            let numbers = ["0", "-0.0", "12.50", "1e300", "9007199254740993", "-7"]
            return word(numbers.randomElement(using: &random))
        case 3, 4, 5: return quoted(text(mayBeEmpty: true))
        case 6:
            let nodes = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                json(depth: depth + 1)
            }
            return LocatedNode(.sequence(nodes), Self.place)
        default:
            var entries: [Entry] = []
            for index in 0..<Int.random(in: 0...3, using: &random) {
                set("k\(index) " + text(mayBeEmpty: true), json(depth: depth + 1), in: &entries)
            }
            return LocatedNode(.mapping(entries), Self.place)
        }
    }

    /// Texts of a form that the grammar gives as a regular expression.
    private static func examples(of pattern: String) -> [String] {
        let table = [
            "S-03", "POST /api/user?x={{user.ada}}", "GET /", "slow 2s", "hang 3m", "2026-11-21",
            "code QUOTA_EXCEEDED", "code A: b", "revenuecat://launchPaywall",
        ]
        guard let expression = try? Regex(pattern) else { return [] }
        return table.filter { $0.contains(expression) }
    }
}

private typealias Entry = LocatedNode.Entry

private func has(_ key: String, _ entries: [Entry]) -> Bool { entries.contains { $0.key == key } }

/// Where the key stands already, or at the end.
private func set(_ key: String, _ value: LocatedNode, in entries: inout [Entry]) {
    let entry = Entry(key: key, keyLocation: GrammarGenerator.place, value: value)
    if let index = entries.firstIndex(where: { $0.key == key }) {
        entries[index] = entry
    } else {
        entries.append(entry)
    }
}

private func mapping(_ entries: [(String, LocatedNode)]) -> LocatedNode {
    LocatedNode(
        .mapping(
            entries.map { Entry(key: $0.0, keyLocation: GrammarGenerator.place, value: $0.1) }
        ),
        GrammarGenerator.place
    )
}

private func word(_ text: String?) -> LocatedNode {
    LocatedNode(.scalar(text ?? "", isPlain: true), GrammarGenerator.place)
}

private func quoted(_ text: String?) -> LocatedNode {
    LocatedNode(.scalar(text ?? "", isPlain: false), GrammarGenerator.place)
}

extension LocatedNode {
    fileprivate subscript(key: String) -> LocatedNode? {
        guard case .mapping(let entries) = content else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The same without that key, however deep it stands.
    fileprivate func leavingOut(_ key: String) -> LocatedNode {
        switch content {
        case .scalar: return self
        case .sequence(let nodes):
            return LocatedNode(.sequence(nodes.map { $0.leavingOut(key) }), GrammarGenerator.place)
        case .mapping(let entries):
            let rest = entries.filter { $0.key != key }.map { entry in
                Entry(
                    key: entry.key,
                    keyLocation: entry.keyLocation,
                    value: entry.value.leavingOut(key)
                )
            }
            return LocatedNode(.mapping(rest), GrammarGenerator.place)
        }
    }

    fileprivate var sequence: [LocatedNode]? {
        guard case .sequence(let nodes) = content else { return nil }
        return nodes
    }

    /// The same with another word where that one stands under `expires` or `grace` of an event.
    fileprivate func replacing(_ word: String, by other: String) -> LocatedNode {
        guard case .mapping(let entries) = content else { return self }
        let changed = entries.map { entry in
            let isEnd = ["expires", "grace"].contains(entry.key) && entry.value.scalar == word
            let value =
                isEnd
                ? LocatedNode(.scalar(other, isPlain: true), GrammarGenerator.place)
                : entry.value.replacing(word, by: other)
            return Entry(key: entry.key, keyLocation: entry.keyLocation, value: value)
        }
        return LocatedNode(.mapping(changed), GrammarGenerator.place)
    }

    /// The same without places, so that two files can be compared.
    var withoutLocations: LocatedNode {
        switch content {
        case .scalar: LocatedNode(content, GrammarGenerator.place)
        case .sequence(let nodes):
            LocatedNode(.sequence(nodes.map(\.withoutLocations)), GrammarGenerator.place)
        case .mapping(let entries):
            LocatedNode(
                .mapping(
                    entries.map {
                        Entry(
                            key: $0.key,
                            keyLocation: GrammarGenerator.place,
                            value: $0.value.withoutLocations
                        )
                    }
                ),
                GrammarGenerator.place
            )
        }
    }
}
